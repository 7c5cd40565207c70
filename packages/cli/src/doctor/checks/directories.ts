import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LoadedConfig } from '@svc/config'
import { codeOf, messageOf } from '@svc/core'
import { shellWord } from '../../command-line/installation.ts'
import type { Check, Subject, Verdict } from '../model/subject.ts'
import { forbiddenPaths } from './user-rights.ts'

const PERMISSIONS = 0o777
const PRIVATE = 0o700
const WRITES_OF_OTHERS = 0o022
/** Files move between a directory of the server and these in it, which only works on one file system. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  state: ['incoming', 'uploads', 'releases'],
  cache: ['isr', 'proxy', 'compile', 'bytecode'],
}

/** The directories of a server by their use. */
export function directoriesOf({ config: { server, cache } }: LoadedConfig): Readonly<Record<string, string>> {
  return { run: server.run_dir, state: server.state_dir, cache: cache.dir }
}

function modeText({ mode }: Stats): string {
  return (mode & PERMISSIONS).toString(8).padStart(4, '0')
}

/** The directory that has to be written to make `path`. */
async function existingParent(path: string): Promise<string> {
  let dir = dirname(path)
  while (dir !== '/' && (await stat(dir).catch(() => undefined)) === undefined) dir = dirname(dir)
  return dir
}

async function missing(subject: Subject, what: string, path: string): Promise<Verdict> {
  const { user, server } = subject
  const remedy = `install -d -m 0700 -o ${user.name} ${shellWord(path)}`
  if (server.kind === 'running') {
    return {
      status: 'problem',
      message: `${what} does not exist, although the server runs`,
      remedy: `${remedy}, then restart the server`,
    }
  }
  const parent = await existingParent(path)
  const forbidden = await forbiddenPaths(subject, [parent], 'w')
  if (forbidden === undefined) return { status: 'unknown', message: `${what} does not exist; run this as root or ${user.name}` }
  if (forbidden.length === 0) return { status: 'ok', message: `${what} does not exist yet: the first start makes it` }
  const unit = await subject.askUnit('svc.service')
  if (unit?.['LoadState'] === 'loaded' && ['/run/svc', '/var/lib/svc', '/var/cache/svc'].includes(path)) {
    return { status: 'ok', message: `${what} does not exist yet: systemd makes it when the unit starts` }
  }
  return { status: 'problem', message: `${what} does not exist, and the user ${user.name} cannot make it in ${parent}`, remedy }
}

function modeVerdict(what: string, path: string, info: Stats): Verdict | undefined {
  const mode = info.mode & PERMISSIONS
  if (mode === PRIVATE) return undefined
  const remedy = `chmod 0700 ${shellWord(path)}`
  if ((mode & PRIVATE) !== PRIVATE)
    return { status: 'problem', message: `${what} has mode ${modeText(info)}: its owner cannot use it`, remedy }
  const isWritable = (mode & WRITES_OF_OTHERS) !== 0
  const effect = isWritable ? 'other users can write to it' : 'other users can list it'
  return {
    status: isWritable ? 'problem' : 'warning',
    message: `${what} has mode ${modeText(info)}, not 0700: ${effect}`,
    remedy,
  }
}

async function partVerdicts(path: string, use: string, info: Stats): Promise<Verdict[]> {
  const verdicts = (PARTS[use] ?? []).map(async (name): Promise<Verdict[]> => {
    const part = join(path, name)
    const device = (await stat(part).catch(() => undefined))?.dev
    if (device === undefined || device === info.dev) return []
    const message = `${part} is on another file system than ${path}: files cannot be moved into it`
    return [{ status: 'problem', message, remedy: `umount ${shellWord(part)}, and mount a file system for ${path} as a whole` }]
  })
  return (await Promise.all(verdicts)).flat()
}

async function examine(subject: Subject, use: string, path: string): Promise<Verdict[]> {
  const what = `${use} directory ${path}`
  let info: Stats
  try {
    info = await lstat(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [await missing(subject, what, path)]
    return [{ status: 'unknown', message: `${what}: ${messageOf(error)}` }]
  }
  const { user } = subject
  if (!info.isDirectory()) {
    const kind = info.isSymbolicLink() ? 'a symbolic link' : 'not a directory'
    return [
      {
        status: 'problem',
        message: `${what} is ${kind}`,
        remedy: `rm ${shellWord(path)} && install -d -m 0700 -o ${user.name} ${shellWord(path)}`,
      },
    ]
  }
  if (info.uid !== user.uid) {
    const message = `${what} belongs to user ${info.uid}, and the server runs as ${user.name} (${user.uid}, from ${user.source})`
    return [{ status: 'problem', message, remedy: `chown -R ${user.name}: ${shellWord(path)}` }]
  }
  const found = [modeVerdict(what, path, info), ...(await partVerdicts(path, use, info))].filter((one) => one !== undefined)
  const forbidden = found.some(({ status }) => status === 'problem') ? [] : await forbiddenPaths(subject, [path], 'w')
  if (forbidden === undefined)
    found.push({ status: 'unknown', message: `${what}: run this as root or ${user.name} to see if it can be written` })
  else if (forbidden.length > 0) {
    const message = `${what} cannot be written by ${user.name}: its file system is read-only, or a directory above it cannot be searched`
    found.push({
      status: 'problem',
      message,
      remedy: `findmnt -T ${shellWord(path)}; mount -o remount,rw <its mount point>; namei -l ${shellWord(path)}`,
    })
  }
  return found.length > 0 ? found : [{ status: 'ok', message: `${what}: mode 0700, owner ${user.name}, writable` }]
}

/** The directories of the server exist, are private, belong to its user and can be written. */
export const directoriesCheck: Check = {
  name: 'directories',
  run: async (subject) => {
    if (subject.loaded === undefined) return [{ status: 'unknown', message: 'the configuration, which names them, is not valid' }]
    const uses = Object.entries(directoriesOf(subject.loaded))
    return (await Promise.all(uses.map(([use, path]) => examine(subject, use, path)))).flat()
  },
}
