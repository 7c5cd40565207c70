import { withoutSessionCookie } from '@svc/auth'
import { CONNECTION_FIELDS, type HeaderList, isTrustedOnlyField } from '@svc/http'
import { connectionOptions } from '@svc/upstream'
import type { ServerSpec } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'

/** Fields of one connection, and those that are rewritten for the next one. */
const NOT_PASSED: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, 'cdn-loop', 'content-length', 'expect', 'host'])

const nothing: ReadonlySet<string> = new Set()

/**
 * The fields of a request that an upstream may see: without those of the connection, without fields that only a trusted proxy may set,
 * without the service's own cookies; with a mark that the request came through here (CDN-Loop, RFC 8586). Host is left to
 * the caller.
 * @param replaced names (lower case) that the caller sends in place of the client's
 */
export function clientFields(context: RequestContext, replaced: ReadonlySet<string> = nothing): (readonly [string, string])[] {
  const { request, client } = context
  const names = context.vhost?.server.fieldNames ?? 'plain'
  const named = namedByConnection(request.headers)
  const fields: (readonly [string, string])[] = []
  let loop = ''
  for (const field of request.headers) {
    const [name, value] = field
    if (name === 'cdn-loop') loop += `${value}, `
    if (NOT_PASSED.has(name) || replaced.has(name) || named.has(name)) continue
    // Applications behind CGI or WSGI read `x_forwarded_for` as `X-Forwarded-For`.
    const alias = isPlainName(name) ? name : name.replaceAll(/[^a-z\d]/g, '-')
    if (alias !== name && (!isTaken(name, names) || NOT_PASSED.has(alias) || replaced.has(alias))) continue
    if (name === 'cookie') {
      const kept = withoutSessionCookie(value)
      if (kept !== undefined) fields.push([name, kept])
    } else if (client.isPeerTrusted || !isTrustedOnlyField(alias)) {
      fields.push(field)
    }
  }
  fields.push(['cdn-loop', `${loop}svc;${context.generation.config.scaling.instance_id}`])
  return fields
}

const TRACE_FIELDS: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/**
 * The fields of a call to an upstream, with the trace of the request in place of the client's. Without a collector, and where the
 * location sets the field itself, they stay as they are.
 */
export function tracedFields({ trace }: RequestContext, fields: HeaderList, replaced: ReadonlySet<string>): HeaderList {
  if (trace === undefined || replaced.has('traceparent')) return fields
  return [...fields.filter(([name]) => !TRACE_FIELDS.has(name)), ...trace.fieldsOf('upstream')]
}

/** Names that Connection declares to belong to it. Nearly always it says nothing but "keep-alive" or "close". */
function namedByConnection(headers: HeaderList): ReadonlySet<string> {
  let said = ''
  for (const [name, value] of headers) {
    if (name !== 'connection' || value === 'keep-alive' || value === 'close') continue
    said = said === '' ? value : `${said},${value}`
  }
  return connectionOptions(said)
}

/** True if a server takes a field whose name is not plain. */
function isTaken(name: string, names: ServerSpec['fieldNames']): boolean {
  return names === 'all' || (names === 'underscores' && isPlainName(name.replaceAll('_', '-')))
}

/** True if a name is made of letters, digits and "-" alone, as nginx wants it where a server says nothing else. */
function isPlainName(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    const isLetter = code >= 0x61 && code <= 0x7a
    if (!isLetter && code !== 0x2d && (code < 0x30 || code > 0x39)) return false
  }
  return true
}
