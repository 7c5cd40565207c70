import { type Stats, statSync } from 'node:fs'
import { codeOf, loadRegularFileSync, messageOf } from '@svc/core'
import { WorkerError } from '../../errors/errors.ts'

/** Users of a file in the format of `htpasswd`: names to stored passwords. One character for each byte. */
export type PasswordTable = ReadonlyMap<string, string>

/** Files that are remembered. */
const MAX_FILES = 64
/** Some hundred thousand users. All requests of the worker wait while it is read. */
const MAX_BYTES = 16 * 1024 * 1024

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
    const read = readLatin1(name)
    const users = parsePasswords(read.text)
    if (this.#files.size >= MAX_FILES) this.#files.clear()
    this.#files.set(path, { stat: read.stat, users })
    return users
  }
}

/** One character for each byte. */
function readLatin1(name: Buffer): { readonly stat: Stats; readonly text: string } {
  try {
    const { stat, bytes } = loadRegularFileSync(name, { maxBytes: MAX_BYTES })
    return { stat, text: bytes.toString('latin1') }
  } catch (error) {
    if (codeOf(error) === 'CORE_FILE_REFUSED') throw new WorkerError('WORKER_PASSWORD_FILE', messageOf(error), { cause: error })
    throw error
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev
}
