import { readFile, realpath } from 'node:fs/promises'
import { messageOf } from '@svc/core'
import type { Check, Subject, Verdict } from '../model/subject.ts'
import { examineSocketUnit } from './socket-unit.ts'

const SERVER = 'svc.service'
const PLACE = '/etc/systemd/system'

/** A unit that the configuration asks for. */
interface Wanted {
  readonly name: string
  readonly site?: string
  /** The server, or the site, runs although no unit of this name does. */
  readonly runsOtherwise: boolean
}

function printCommand({ command, options }: Subject, { site }: Wanted): string {
  return `${command} systemd${site === undefined ? '' : ` --site ${site}`}${options}`
}

/** True if the file starts another release or configuration, or is not what `svc systemd` prints for its user. */
async function isStale(subject: Subject, path: string, { site }: Wanted): Promise<boolean> {
  const text = await readFile(path, 'utf8')
  const user = /^User=(\S+)$/m.exec(text)?.[1] ?? 'root'
  const named = /^ExecStart=(\S+)\/bin\/node\s/m.exec(text)?.[1]
  // It may name the release by a link to it.
  const real = named === undefined ? undefined : await realpath(named).catch(() => undefined)
  const installation = named !== undefined && real === (await realpath(subject.installation)) ? named : subject.installation
  const printed = await subject.unitText({ ...(site === undefined ? {} : { site }), user, installation })
  return text.trim() !== printed.trim()
}

async function fileVerdict(subject: Subject, wanted: Wanted, path: string): Promise<Verdict[]> {
  try {
    if (!(await isStale(subject, path, wanted))) return []
  } catch (error) {
    return [{ status: 'unknown', message: `${wanted.name}: ${path} cannot be compared: ${messageOf(error)}` }]
  }
  const remedy = `${printCommand(subject, wanted)} > ${path} && systemctl daemon-reload && systemctl restart ${wanted.name}`
  return [{ status: 'warning', message: `${path} is not what "svc systemd" prints for this release and configuration`, remedy }]
}

function activity(wanted: Wanted, state: Readonly<Record<string, string>>): Verdict[] {
  const { name, runsOtherwise } = wanted
  const { ActiveState: active = '', UnitFileState: enabled = '', NeedDaemonReload: isOutdated } = state
  const found: Verdict[] = []
  if (isOutdated === 'yes') {
    found.push({
      status: 'warning',
      message: `systemd has not read the changed file of ${name}`,
      remedy: 'systemctl daemon-reload',
    })
  }
  if (active !== 'active' && active !== 'reloading') {
    const message = runsOtherwise ? `${name} is ${active}; it runs, but not as a unit` : `${name} is ${active}`
    const remedy = active === 'failed' ? `journalctl -u ${name} -n 50; systemctl restart ${name}` : `systemctl start ${name}`
    found.push({ status: runsOtherwise ? 'warning' : 'problem', message, remedy })
  }
  if (enabled === 'disabled') {
    found.push({ status: 'warning', message: `${name} does not start with the machine`, remedy: `systemctl enable ${name}` })
  }
  return found
}

async function examine(subject: Subject, wanted: Wanted): Promise<Verdict[]> {
  const { name } = wanted
  const state = await subject.askUnit(name)
  if (state === undefined) return [{ status: 'unknown', message: `${name}: systemctl does not answer` }]
  if (state['LoadState'] !== 'loaded') {
    const install = `${printCommand(subject, wanted)} > ${PLACE}/${name} && systemctl daemon-reload && systemctl enable --now ${name}`
    const isNeeded = wanted.site !== undefined && !wanted.runsOtherwise
    return [{ status: isNeeded ? 'problem' : 'warning', message: `there is no unit ${name}`, remedy: install }]
  }
  const path = state['FragmentPath'] ?? ''
  const found = [...activity(wanted, state), ...(path === '' ? [] : await fileVerdict(subject, wanted, path))]
  return found.length > 0 ? found : [{ status: 'ok', message: `${name}: active, as "svc systemd" prints it` }]
}

function wantedUnits({ loaded, server }: Subject): Wanted[] {
  const status = server.kind === 'running' ? server.status : undefined
  const own = (loaded?.sites ?? []).filter((site) => site.process === 'own')
  const isServed = (id: string) => status?.sites.some((site) => site.id === id && site.state === 'ok') === true
  return [
    { name: SERVER, runsOtherwise: status !== undefined },
    ...own.map(({ id }) => ({ name: `svc-${id}.service`, site: id, runsOtherwise: isServed(id) })),
  ]
}

/** The units of the server, its sockets and sites with a process of their own are installed, current, enabled and active. */
export const unitsCheck: Check = {
  name: 'units',
  run: async (subject) => {
    if (subject.loaded?.sites.some((site) => site.any_host) === true) {
      return [{ status: 'ok', message: 'a directory that is served alone needs none' }]
    }
    if ((await subject.askUnit(SERVER)) === undefined) {
      return [{ status: 'unknown', message: 'systemd does not run here: another supervisor has to restart the server' }]
    }
    const services = wantedUnits(subject).map((wanted) => examine(subject, wanted))
    return (await Promise.all([...services, examineSocketUnit(subject)])).flat()
  },
}
