import { asError, codeOf } from '@svc/core'
import { clientNetwork } from '@svc/http'
import type { ServerSpec } from '@svc/vhosts'
import type { RequestContext } from '../../request/request-context.ts'
import type { PasswordCheck, PasswordVerdict, Requester } from './password-check.ts'
import { PasswordFiles, type PasswordTable } from './password-file.ts'

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
