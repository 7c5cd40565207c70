import { type Stats, statSync } from 'node:fs'
import { asError, codeOf, loadRegularFileSync, messageOf } from '@svc/core'
import { clientNetwork } from '@svc/http'
import type { ServerSpec } from '@svc/vhosts'
import { WorkerError } from '../../errors/errors.ts'
import type { RequestContext } from '../../request/request-context.ts'
import type { PasswordCheck, PasswordVerdict, Requester } from './password-check.ts'

/** Outcome of `auth_basic` for a request. `refused`: no user, or a wrong password. `limited`: its client guessed wrong too often. */
export type AuthVerdict = 'passed' | 'refused' | 'no-file' | 'broken' | 'busy' | 'limited'

/** Longest credentials that are checked. */
const MAX_CREDENTIALS = 4096

/** Credentials that a client sent. */
interface Credentials {
  readonly user: string
  readonly password: Buffer
}

/** `auth_basic` with files of passwords. */
export class FileAuth {
  readonly #files = new PasswordFiles()
  readonly #check: PasswordCheck

  constructor(check: PasswordCheck) {
    this.#check = check
  }

  /**
   * Checks the credentials of a request.
   * @param userFile absolute path, one character for each byte
   * @param server of the request: none delays the users of another
   */
  check(context: RequestContext, userFile: string, server: ServerSpec): AuthVerdict | Promise<AuthVerdict> {
    const credentials = credentialsOf(context.request.header('authorization'))
    if (credentials === undefined) return 'refused'
    let users: PasswordTable
    try {
      users = this.#files.users(userFile)
    } catch (error) {
      context.reportFailure(asError(error), 500)
      return codeOf(error) === 'ENOENT' ? 'no-file' : 'broken'
    }
    const asker = { lane: server, client: clientNetwork(context.client.address) }
    return this.#verdict(context, users, credentials, asker)
  }

  #verdict(
    context: RequestContext,
    users: PasswordTable,
    { user, password }: Credentials,
    asker: Requester,
  ): AuthVerdict | Promise<AuthVerdict> {
    // An unknown user takes as long as a known one.
    const stored = users.get(user) ?? users.values().next().value
    if (stored === undefined) return 'refused'
    const isKnown = users.has(user)
    const right = this.#check.check(password, stored, asker)
    const verdictOf = (known: PasswordVerdict): AuthVerdict => {
      if (typeof known === 'string') return known
      return isKnown && known ? 'passed' : 'refused'
    }
    if (!(right instanceof Promise)) return verdictOf(right)
    return right.then(verdictOf, (error) => {
      context.reportFailure(asError(error), 500)
      return 'broken'
    })
  }
}

/** RFC 7617 section 2: everything behind the first colon is the password. */
function credentialsOf(field: string | undefined): Credentials | undefined {
  const match = /^basic +([A-Za-z0-9+/_=-]+) *$/i.exec(field ?? '')
  if (match?.[1] === undefined || match[1].length > MAX_CREDENTIALS) return undefined
  const text = Buffer.from(match[1], 'base64')
  const colon = text.indexOf(0x3a)
  if (colon < 1) return undefined
  return { user: text.subarray(0, colon).toString('latin1'), password: text.subarray(colon + 1) }
}

/** Users of a file in the format of `htpasswd`: names to stored passwords. One character for each byte. */
type PasswordTable = ReadonlyMap<string, string>

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
