import { readFileSync, type Stats, statSync } from 'node:fs'

/** Users of a file in the format of `htpasswd`: names to stored passwords. One character for each byte. */
export type PasswordTable = ReadonlyMap<string, string>

/** Files that are remembered. */
const MAX_FILES = 64

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

  /** @throws the error of the file system */
  users(path: string): PasswordTable {
    const name = Buffer.from(path, 'latin1')
    const stat = statSync(name)
    const known = this.#files.get(path)
    if (known !== undefined && isSame(known.stat, stat)) return known.users
    const users = parsePasswords(readFileSync(name, 'latin1'))
    if (this.#files.size >= MAX_FILES) this.#files.clear()
    this.#files.set(path, { stat, users })
    return users
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.dev === b.dev
}
