import { readFile } from 'node:fs/promises'
import { messageOf } from '@svc/core'
import type { Subject, Verdict } from '../model/subject.ts'

const SOCKET = 'svc.socket'
const EFFECT = 'clients are refused while the server restarts'
/** A socket cannot be started while its service runs. */
const RESTART = 'systemctl stop svc.service && systemctl restart svc.socket && systemctl start svc.service'

/** Addresses that a socket unit listens on, with a port alone as systemd reads it. */
function addressesIn(text: string): string[] {
  const values = text.split('\n').flatMap((line) => /^\s*ListenStream=(\S+)\s*$/.exec(line)?.[1] ?? [])
  return values.map((value) => (/^\d+$/.test(value) ? `[::]:${value}` : value))
}

function activity({
  ActiveState: active = '',
  UnitFileState: enabled,
  NeedDaemonReload: isOutdated,
}: Readonly<Record<string, string>>): Verdict[] {
  const found: Verdict[] = []
  if (isOutdated === 'yes') {
    const message = `systemd has not read the changed file of ${SOCKET}`
    found.push({ status: 'warning', message, remedy: `systemctl daemon-reload && ${RESTART}` })
  }
  if (active !== 'active') {
    const remedy = active === 'failed' ? `journalctl -u ${SOCKET} -n 50; ${RESTART}` : RESTART
    found.push({ status: 'warning', message: `${SOCKET} is ${active}: ${EFFECT}`, remedy })
  }
  if (enabled === 'disabled') {
    const message = `${SOCKET} does not start with the machine: ${EFFECT}`
    found.push({ status: 'warning', message, remedy: `systemctl enable ${SOCKET}` })
  }
  return found
}

/** Compares the addresses of the unit's file with those of the configuration. */
async function addresses(subject: Subject, path: string): Promise<Verdict[]> {
  const remedy = `${subject.command} systemd --socket${subject.options} > ${path} && systemctl daemon-reload && ${RESTART}`
  try {
    const [text, printed] = await Promise.all([
      readFile(path, 'utf8'),
      subject.unitText({ isSocket: true, user: 'root', installation: subject.installation }),
    ])
    const [opened, wanted] = [addressesIn(text), addressesIn(printed)]
    const extra = opened.filter((address) => !wanted.includes(address)).join(', ')
    const missing = wanted.filter((address) => !opened.includes(address)).join(', ')
    const found: Verdict[] = []
    if (extra !== '') {
      const message = `${SOCKET} listens on ${extra}, which the configuration does not name: the server will not start`
      found.push({ status: 'problem', message, remedy })
    }
    if (missing !== '') found.push({ status: 'warning', message: `${SOCKET} does not listen on ${missing}: ${EFFECT}`, remedy })
    return found
  } catch (error) {
    return [{ status: 'unknown', message: `${SOCKET}: its addresses cannot be compared: ${messageOf(error)}` }]
  }
}

/** The socket unit, if there is one, is active and enabled, and its addresses are those of the configuration. */
export async function examineSocketUnit(subject: Subject): Promise<Verdict[]> {
  const state = await subject.askUnit(SOCKET)
  if (state?.['LoadState'] !== 'loaded') return [{ status: 'ok', message: `there is no ${SOCKET}: ${EFFECT}` }]
  const path = state['FragmentPath'] ?? ''
  const found = [...activity(state), ...(path === '' ? [] : await addresses(subject, path))]
  return found.length > 0 ? found : [{ status: 'ok', message: `${SOCKET}: active, on all addresses of the configuration` }]
}
