import { constants, type Stats } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, messageOf, userName } from '@svc/core'
import type { NeededPath, NeedKind } from '@svc/vhosts'

interface Need {
  /** Names the path in a message. */
  readonly noun: string
  /** The right that the user needs, except to a directory. */
  readonly right: number
  readonly verb: string
  readonly isRight: (info: Stats) => boolean
  readonly expected: string
  /** The answer that requests get until it is there. */
  readonly until: string
  /** Advice for a path that is missing, and for one that may not be used. */
  readonly make: string
  readonly permit: string
}

const FILES = {
  right: constants.R_OK,
  verb: 'read',
  make: 'create it, or correct the path',
  permit: 'give the user, or a group of its own, the right to read it',
  until: 'requests for its files get 404 or 403',
}

const needs: Readonly<Record<NeedKind, Need>> = {
  socket: {
    noun: 'socket',
    right: constants.W_OK,
    verb: 'connect to',
    isRight: (info) => info.isSocket(),
    expected: 'a socket',
    until: 'requests for it get 502',
    make: 'start the program that listens on it, or correct the path',
    permit:
      'add the user to the group of the socket, or change its mode where its program is configured (listen.mode of php-fpm)',
  },
  root: { ...FILES, noun: 'root directory', isRight: (info) => info.isDirectory(), expected: 'a directory' },
  alias: { ...FILES, noun: 'alias', isRight: (info) => info.isDirectory() || info.isFile(), expected: 'a file or directory' },
  passwords: {
    ...FILES,
    noun: 'file of passwords',
    isRight: (info) => info.isFile(),
    expected: 'a regular file',
    until: 'requests that need it are rejected',
    make: 'create it (htpasswd -c), or correct the path',
  },
  certificates: {
    ...FILES,
    noun: 'file of certificates',
    isRight: (info) => info.isFile(),
    expected: 'a regular file',
    until: 'the server does not start with this configuration',
  },
}

/** Paths that are checked at the same time: there may be thousands. */
const MAX_PARALLEL = 16
const MAX_NOTICES = 50
const MODE_BITS = 0o7777

function kindOf(info: Stats): string {
  if (info.isDirectory()) return 'a directory'
  if (info.isFile()) return 'a regular file'
  if (info.isFIFO()) return 'a named pipe'
  return info.isSocket() ? 'a socket' : 'a device'
}

/** A path for one line of a message. */
function printable(path: string): string {
  return path.replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** The topmost directory above a path that may not be searched. */
async function unsearchable(path: string): Promise<string | undefined> {
  const above: string[] = []
  for (let dir = dirname(path); !above.includes(dir); dir = dirname(dir)) above.unshift(dir)
  for (const dir of above) {
    const code = await access(dir, constants.X_OK).then(() => undefined, codeOf)
    if (code === 'EACCES') return dir
  }
  return undefined
}

async function problemOf({ kind, path: written }: NeededPath, user: string): Promise<string | undefined> {
  const { noun, right, verb, isRight, expected, make, permit } = needs[kind]
  const path = printable(written)
  const who = `the user ${user}`
  try {
    const info = await stat(written)
    if (!isRight(info)) return `${noun} ${path} is ${kindOf(info)}, not ${expected}: correct the path`
    // Names in a directory are found without a list of them.
    const wanted = info.isDirectory() ? constants.X_OK : right
    const code = await access(written, wanted).then(() => undefined, codeOf)
    if (code === undefined) return undefined
    const owner = `owner ${info.uid}, group ${info.gid}, mode ${(info.mode & MODE_BITS).toString(8).padStart(4, '0')}`
    return `${who} may not ${verb} the ${noun} ${path} (${owner}): ${permit}`
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return `${noun} ${path} does not exist (${who} would ${verb} it): ${make}`
    if (code === 'ENOTDIR') return `${noun} ${path} does not exist: a part of the path is not a directory; correct it`
    if (code === 'ELOOP') return `${noun} ${path} is a symbolic link loop: correct the link`
    const dir = code === 'EACCES' ? await unsearchable(written) : undefined
    if (dir === undefined) return `${who} cannot use the ${noun} ${path}: ${code ?? messageOf(error)}`
    return `${who} may not search ${printable(dir)}, so it cannot ${verb} the ${noun} ${path}: give the user the right to search (chmod +x) that directory`
  }
}

/**
 * Checks paths that requests will need. Returns their problems as notices, never as errors, since a program may make
 * its socket later. Nothing is opened, so a pipe is not waited for.
 */
export async function accessNotices(paths: readonly NeededPath[], user = userName()): Promise<string[]> {
  const lines: (string | undefined)[] = []
  const next = paths.entries()
  const work = async () => {
    for (const [index, needed] of next) {
      const problem = await problemOf(needed, user)
      if (problem !== undefined) lines[index] = `${needed.place}: ${problem}; until then ${needs[needed.kind].until}`
    }
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL }, work))
  const notices = lines.filter((line) => line !== undefined)
  const left = notices.length - MAX_NOTICES
  return left > 0 ? [...notices.slice(0, MAX_NOTICES), `and ${left} more paths of this kind`] : notices
}
