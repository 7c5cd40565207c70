import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedConfig, LoadResult } from '@svc/config'
import { codeOf, messageOf, withDeadline } from '@svc/core'
import { CliError } from '../../command-line/errors.ts'
import { installation, ownCommand, shellWord } from '../../command-line/installation.ts'
import { configSource, type SourceArgs } from '../../command-line/source-options.ts'
import { serverAt } from '../../control/control-client.ts'
import type { Machine } from '../model/machine.ts'
import type { AskUnit, PrintedUnit, ServerState, ServerUser, Subject } from '../model/subject.ts'

const STATUS_MS = 3_000
const PROPERTIES = 'LoadState,ActiveState,UnitFileState,FragmentPath,NeedDaemonReload,User'

/** Prints a unit as `svc systemd` does. */
type PrintUnit = (loaded: LoadedConfig, unit: PrintedUnit & { readonly args: SourceArgs }) => Promise<string>

function optionsOf({ config, platform, dir }: SourceArgs): string {
  const named = { config, platform, dir }
  return Object.entries(named)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` --${name} ${shellWord(String(value))}`)
    .join('')
}

/** Asks systemd. Each unit is asked for once. */
function unitAsker(machine: Machine): AskUnit {
  const asked = new Map<string, ReturnType<AskUnit>>()
  const ask: AskUnit = async (name) => {
    const ran = await machine.run('systemctl', ['show', `--property=${PROPERTIES}`, '--', name])
    if (ran?.code !== 0) return undefined
    const lines = ran.stdout.split('\n').filter((line) => line.includes('='))
    return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  }
  return (name) => {
    const answer = asked.get(name) ?? ask(name)
    asked.set(name, answer)
    return answer
  }
}

async function serverStateAt(runDir: string): Promise<ServerState> {
  const socket = join(runDir, 'control.sock')
  const missing = await lstat(socket).then(() => undefined, codeOf)
  const forbidden = async (): Promise<ServerState> => {
    const owner = (await lstat(runDir).catch(() => undefined))?.uid
    return { kind: 'forbidden', message: `this user may not reach ${socket}`, owner }
  }
  if (missing === 'EACCES') return await forbidden()
  try {
    return { kind: 'running', status: await serverAt(socket)('status', undefined, STATUS_MS) }
  } catch (error) {
    const code = error instanceof Error ? codeOf(error.cause) : undefined
    if (code === 'EACCES') return await forbidden()
    const isAbsent = code === 'ENOENT' || code === 'ECONNREFUSED'
    return { kind: isAbsent ? 'absent' : 'silent', message: messageOf(error) }
  }
}

async function serverState(args: SourceArgs): Promise<ServerState> {
  const { findRunDirectory } = await import('@svc/config')
  const found = await findRunDirectory(configSource(args))
  if (!found.ok) return { kind: 'absent', message: 'the run directory cannot be found: the configuration cannot be read' }
  return await serverStateAt(found.dir)
}

async function nameOf(uid: number, machine: Machine): Promise<string> {
  const ran = await machine.run('id', ['-nu', String(uid)])
  return ran?.code === 0 ? ran.stdout.trim() : String(uid)
}

async function serverUser(server: ServerState, askUnit: AskUnit, machine: Machine): Promise<ServerUser> {
  if (server.kind === 'running') {
    const uid = (await stat(`/proc/${server.status.pid}`).catch(() => undefined))?.uid
    if (uid !== undefined) return { uid, name: await nameOf(uid, machine), source: 'the running server' }
  }
  if (server.kind === 'forbidden' && server.owner !== undefined) {
    return { uid: server.owner, name: await nameOf(server.owner, machine), source: 'the run directory' }
  }
  const name = (await askUnit('svc.service'))?.['User'] ?? ''
  const ran = name === '' ? undefined : await machine.run('id', ['-u', '--', name])
  if (ran?.code === 0) return { uid: Number(ran.stdout), name, source: 'the unit svc.service' }
  const self = process.geteuid?.() ?? 0
  return { uid: self, name: await nameOf(self, machine), source: 'the user of this command' }
}

/** The configuration, or why it could not be read in time. */
type Loaded = LoadResult | { readonly ok: undefined; readonly unread: string }

async function load(args: SourceArgs, timeoutMs: number): Promise<Loaded> {
  const { loadConfig } = await import('@svc/config')
  try {
    return await withDeadline(loadConfig(configSource(args)), timeoutMs, 'reading the configuration')
  } catch (error) {
    return { ok: undefined, unread: messageOf(error) }
  }
}

/** Gathers everything that the checks look at. */
export async function examined(args: SourceArgs, machine: Machine, printUnit: PrintUnit, timeoutMs: number): Promise<Subject> {
  const askUnit = unitAsker(machine)
  const state = withDeadline(serverState(args), timeoutMs, 'looking for the server')
  const unseen = (error: unknown): ServerState => ({ kind: 'absent', message: messageOf(error) })
  const [result, server, command] = await Promise.all([load(args, timeoutMs), state.catch(unseen), ownCommand()])
  const loaded = result.ok === true ? result : undefined
  return {
    machine,
    loaded,
    unread: result.ok === undefined ? result.unread : undefined,
    problems: result.ok === false ? result.problems : [],
    options: optionsOf(args),
    command,
    installation: installation(),
    user: await serverUser(server, askUnit, machine),
    server,
    askUnit,
    unitText: async (unit) => {
      if (loaded === undefined) throw new CliError('CLI_CONFIG', 'the configuration is not valid')
      return await printUnit(loaded, { ...unit, args })
    },
  }
}
