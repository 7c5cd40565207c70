import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { WorkerError } from '../../errors/errors.ts'

/** Users of a file in the format of `htpasswd`: names to stored passwords. One character for each byte. */
export type PasswordTable = ReadonlyMap<string, string>

/** Files that are remembered. */
const MAX_FILES = 64
/** Some hundred thousand users. All requests of the worker wait while it is read. */
const MAX_BYTES = 16 * 1024 * 1024
/** Does not wait for the writer of a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/** Reads lines of "name:password[:comment]". Lines that begin with "#" say nothing; the first of two entries counts. */
export function parsePasswords(text: string): PasswordTable {
  const users = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon < 1 || line.startsWith('#')) continue
    const name = line.slice(0, colon)
    const stored = line.slice(colon + 1)
    const end = stored.indexOf(':')
    if (!users.has(name)) users.set(name, end === -1 ? stored : stored.slice(0, end))
  }
  return users
}

/** Files of passwords by path, read again when they change. */
export class PasswordFiles {
  readonly #files = new Map<string, { readonly stat: Stats; readonly users: PasswordTable }>()

  /** @throws the error of the file system, or WORKER_PASSWORD_FILE */
  users(path: string): PasswordTable {
    const name = Buffer.from(path, 'latin1')
    const stat = statSync(name)
    const known = this.#files.get(path)
    if (known !== undefined && isSame(known.stat, stat)) return known.users
    const read = readRegular(name)
    const users = parsePasswords(read.text)
    if (this.#files.size >= MAX_FILES) this.#files.clear()
    this.#files.set(path, { stat: read.stat, users })
    return users
  }
}

function readRegular(name: Buffer): { readonly stat: Stats; readonly text: string } {
  const fd = openSync(name, OPEN_FLAGS)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new WorkerError('WORKER_PASSWORD_FILE', `${name} is not a regular file`)
    if (stat.size > MAX_BYTES) throw new WorkerError('WORKER_PASSWORD_FILE', `${name} is larger than ${MAX_BYTES} bytes`)
    const bytes = Buffer.alloc(stat.size)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, null)
    return { stat, text: bytes.toString('latin1', 0, length) }
  } finally {
    closeSync(fd)
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev
}
