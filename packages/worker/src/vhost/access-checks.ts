import { CidrSet, type HeaderList, withoutControls } from '@svc/http'
import type { AccessRule, AuthRequestSpec, LocationSettings } from '@svc/vhosts'
import { WorkerError } from '../errors/errors.ts'
import type { AuthVerdict, FileAuth } from './passwords/file-auth.ts'
import { GUESS_RECOVERY_SECONDS } from './passwords/password-check.ts'
import { readForAnswer, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'

/** A response in place of the content of a location. */
export interface Refused {
  readonly status: number
  readonly headers: HeaderList
}

/** Result of an access check. `declined`: it says nothing about the request. */
export type Verdict = 'passed' | 'declined' | Refused

/** The answer to a subrequest. Undefined: the client disconnected. */
export type SubAnswer = { readonly status: number; readonly input: VariableInput } | undefined

/** A request, as far as access checks use it. */
export interface CheckedRequest {
  readonly state: VariableInput & { setArgs(args: string): void }
  readonly tools: { readonly basicAuth: FileAuth }
  /** Requests a path of the same server on behalf of the client, past the checks of its location. */
  request(uri: string): Promise<SubAnswer>
}

/** One kind of check of a location. */
export type AccessCheck = (request: CheckedRequest) => Verdict | Promise<Verdict>

/** Compiles the checks of a location, in the order in which nginx makes them. */
export function compileChecks({ access, authBasic, guard }: LocationSettings, templates: Templates): readonly AccessCheck[] {
  return [
    ...(access.length === 0 ? [] : [addressCheck(access)]),
    ...(authBasic === undefined ? [] : [userCheck(authBasic, templates)]),
    ...(guard.authRequest === undefined ? [] : [requestCheck(guard.authRequest, templates)]),
  ]
}

/** `allow` and `deny`: the first rule that matches decides. */
function addressCheck(rules: readonly AccessRule[]): AccessCheck {
  const compiled = rules.map(({ isAllowed, source }) => ({ isAllowed, fits: matcherOf(source) }))
  return ({ state }) => {
    const { address } = state.context.client
    const isAllowed = compiled.find(({ fits }) => fits(address))?.isAllowed
    if (isAllowed === undefined) return 'declined'
    return isAllowed ? 'passed' : { status: 403, headers: [] }
  }
}

function matcherOf(source: string): (address: string) => boolean {
  if (source === 'all') return () => true
  // A connection over a unix socket has no address.
  if (source === 'unix:') return (address) => address === ''
  const set = new CidrSet([source])
  return (address) => set.contains(address)
}

const authStatus = { refused: 401, 'no-file': 403, broken: 500, busy: 503, limited: 429 } as const

/** `auth_basic`. */
function userCheck(spec: NonNullable<LocationSettings['authBasic']>, templates: Templates): AccessCheck {
  const realm = templates.of(spec.realm)
  const userFile = templates.of(spec.userFile)
  return ({ state, tools }) => {
    const text = withoutControls(readForAnswer(state, realm))
    const verdict = tools.basicAuth.check(state.context, readForAnswer(state, userFile), state.server)
    const verdictOf = (known: AuthVerdict): Verdict =>
      known === 'passed' ? known : { status: authStatus[known], headers: fieldsOf(known, text) }
    return verdict instanceof Promise ? verdict.then(verdictOf) : verdictOf(verdict)
  }
}

function fieldsOf(verdict: AuthVerdict, realm: string): HeaderList {
  if (verdict === 'refused') return [['www-authenticate', `Basic realm="${realm}"`]]
  return verdict === 'limited' ? [['retry-after', String(GUESS_RECOVERY_SECONDS)]] : []
}

/** Closes the connection in place of a response. */
const CLOSE = 444

/** `auth_request`: a response with 2xx passes, 401 and 403 refuse, every other one is an error. */
function requestCheck({ uri, sets }: AuthRequestSpec, templates: Templates): AccessCheck {
  const variables = sets.map(({ variable, value }) => ({ variable, value: templates.of(value) }))
  return async (checked) => {
    const answer = await checked.request(uri)
    const { state } = checked
    if (answer === undefined) return { status: CLOSE, headers: [] }
    const { status } = answer
    if (status === CLOSE) return { status, headers: [] }
    for (const { variable, value } of variables) {
      const text = value.read(answer.input)
      if (variable === 'args') state.setArgs(text)
      else state.setVariable(variable, text)
    }
    if (status >= 200 && status < 300) return 'passed'
    if (status === 403) return { status, headers: [] }
    if (status === 401) {
      const headers = answer.input.upstreamHeaders.filter(([name]) => name === 'www-authenticate')
      return { status, headers }
    }
    const error = new WorkerError('WORKER_AUTH_REQUEST', `auth_request ${uri} was answered with ${status}`)
    state.context.reportFailure(error, 500)
    return { status: 500, headers: [] }
  }
}
