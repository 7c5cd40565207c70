import { namesSessionCookie } from '@svc/auth'
import {
  CONNECTION_FIELDS,
  type HeaderList,
  isEngineField,
  isFieldValue,
  isToken,
  isTrustedOnlyField,
  type ParsedTarget,
  parseTarget,
  type ResponseHead,
} from '@svc/http'
import { WorkerError } from '../errors/errors.ts'

const MAX_FIELDS = 100
const MAX_BODY_BYTES = 10 * 1024 * 1024
const RESERVED_PATH = '/__svc/'

/** New values of fields, by lower-case name; null: the field is removed. */
export type FieldChanges = ReadonlyMap<string, readonly string[] | null>

/** A response of a plugin. */
interface OwnResponse {
  readonly head: ResponseHead
  readonly body: Uint8Array
}

/** Decision of a hook about a request. */
export interface RequestChange {
  readonly respond?: OwnResponse | undefined
  readonly fields?: FieldChanges | undefined
  readonly target?: ParsedTarget | undefined
}

/** Decision of a hook about a response. */
export interface ResponseChange {
  readonly status?: number | undefined
  readonly fields?: FieldChanges | undefined
}

function wrong(problem: string): never {
  throw new WorkerError('WORKER_PLUGIN', problem)
}

function tableOf(value: unknown, what: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(`${what} must be an object`)
  for (const key of Object.keys(value))
    if (!keys.includes(key)) wrong(`${what} has an unknown key "${key}"; known: ${keys.join(', ')}`)
  return value as Record<string, unknown>
}

/** Reads the result of a hook. `keys`: the members that this hook may use. @throws WORKER_PLUGIN */
export function readRequestChange(value: unknown, keys: readonly ('respond' | 'requestHeaders' | 'rewrite')[]): RequestChange {
  const { respond, requestHeaders, rewrite } = tableOf(value, 'the result', keys)
  if (respond !== undefined && (requestHeaders !== undefined || rewrite !== undefined))
    wrong('the result has both "respond" and a change of the request')
  return {
    respond: respond === undefined ? undefined : readResponse(respond),
    fields: requestHeaders === undefined ? undefined : readFields(requestHeaders, 'requestHeaders', requestFieldProblem),
    target: rewrite === undefined ? undefined : readTarget(rewrite),
  }
}

/** @throws WORKER_PLUGIN */
export function readResponseChange(value: unknown, before: number): ResponseChange {
  const { status, headers } = tableOf(value, 'the result', ['status', 'headers'])
  return {
    status: status === undefined ? undefined : readStatusChange(status, before),
    fields: headers === undefined ? undefined : readFields(headers, 'headers', responseFieldProblem),
  }
}

function readResponse(value: unknown): OwnResponse {
  const { status, headers = {}, body = '' } = tableOf(value, 'respond', ['status', 'headers', 'body'])
  const fields = readFields(headers, 'respond.headers', responseFieldProblem)
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return wrong('respond.body must be a string or a Uint8Array')
  // A copy: the plugin may go on writing to its own.
  const bytes = Buffer.from(body as string)
  if (bytes.byteLength > MAX_BODY_BYTES) wrong(`respond.body has more than ${MAX_BODY_BYTES} bytes`)
  const list = withFields([], fields)
  const hasType = fields.has('content-type') || bytes.byteLength === 0
  const whole: HeaderList = hasType ? list : [...list, ['content-type', 'text/plain; charset=utf-8']]
  return { head: { status: readStatus(status), headers: whole }, body: bytes }
}

function readStatus(status: unknown): number {
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599) return status
  return wrong(`the status must be an integer from 200 to 599, not ${String(status)}`)
}

/** The rest of a response is framed for its status: one without a body stays one, and a range stays a range. */
const FRAMED: ReadonlySet<number> = new Set([204, 205, 206, 304, 416])

function readStatusChange(value: unknown, before: number): number {
  const status = readStatus(value)
  if (status !== before && (FRAMED.has(status) || FRAMED.has(before))) wrong(`status ${before} cannot become ${status}`)
  return status
}

function readTarget(rewrite: unknown): ParsedTarget {
  if (typeof rewrite !== 'string') return wrong('rewrite must be a path')
  const parsed = parseTarget(rewrite)
  if (typeof parsed === 'string') return wrong(`rewrite must be a path that begins with "/", well escaped: ${parsed}`)
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(parsed.rawPath)) wrong('rewrite has a dot segment in its path')
  if (`${parsed.path}/`.startsWith(RESERVED_PATH)) wrong(`rewrite leads to ${RESERVED_PATH}, which is not served behind plugins`)
  return parsed
}

function readFields(value: unknown, what: string, problemOf: (name: string, value: string) => string | undefined): FieldChanges {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(`${what} must be an object`)
  const entries = Object.entries(value).filter(([, given]) => given !== undefined)
  if (entries.length > MAX_FIELDS) wrong(`${what} has more than ${MAX_FIELDS} fields`)
  return new Map(
    entries.map(([name, given]): [string, readonly string[] | null] => {
      const key = name.toLowerCase()
      const values: unknown[] | null = given === null ? null : Array.isArray(given) ? given : [given]
      if (!isToken(name)) wrong(`${what} has an invalid name: ${JSON.stringify(name)}`)
      for (const one of values ?? ['']) {
        if (typeof one !== 'string') return wrong(`${what}.${name} must be a text or null`)
        const problem = isFieldValue(one) ? problemOf(key, one) : 'has a control character in its value'
        if (problem !== undefined) wrong(`${what}.${name} ${problem}`)
      }
      return [key, values as readonly string[] | null]
    }),
  )
}

const NOT_OF_REQUEST: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, 'host', 'content-length', 'expect', 'cdn-loop'])

function requestFieldProblem(name: string): string | undefined {
  if (NOT_OF_REQUEST.has(name)) return 'cannot be changed: it says where a request goes, and where it ends'
  return isTrustedOnlyField(name) ? 'cannot be changed: it speaks for a proxy in front of the server' : undefined
}

const NOT_OF_RESPONSE: ReadonlySet<string> = new Set(['content-encoding', 'content-range'])

function responseFieldProblem(name: string, value: string): string | undefined {
  if (isEngineField(name) || NOT_OF_RESPONSE.has(name)) return 'cannot be changed: it belongs to the body and the connection'
  return name === 'set-cookie' && namesSessionCookie(value) ? 'would change the cookie of administrators' : undefined
}

/** Applies changes to fields. Cookies are added to those before. */
export function withFields(headers: HeaderList, changes: FieldChanges): HeaderList {
  const kept = headers.filter(([name]) => {
    const change = changes.get(name.toLowerCase())
    return change === undefined || (change !== null && name.toLowerCase() === 'set-cookie')
  })
  const added = [...changes].flatMap(([name, values]) => (values ?? []).map((value) => [name, value] as const))
  return [...kept, ...added]
}
