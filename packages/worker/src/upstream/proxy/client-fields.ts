import { isTrustedOnlyField, removeCookies } from '@svc/http'
import type { RequestContext } from '../../pipeline/request-context.ts'

/** Cookies of the service itself: no upstream ever sees them. */
const OWN_COOKIES: ReadonlySet<string> = new Set(['SVC_ADMIN'])

/** Fields of one connection (RFC 9110 section 7.6.1), and those that are written anew for the next one. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  'cdn-loop',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const nothing: ReadonlySet<string> = new Set()

/**
 * The fields of a request that an upstream may see: without those of the connection, without what only a trusted proxy may say,
 * without the service's own cookies; with what shows that the request came through here (CDN-Loop, RFC 8586). Host is left to
 * the caller.
 * @param replaced names (lower case) that the caller sends in place of the client's
 */
export function clientFields(context: RequestContext, replaced: ReadonlySet<string> = nothing): (readonly [string, string])[] {
  const { request, client } = context
  const named = namedByConnection(request.header('connection'))
  const fields: (readonly [string, string])[] = []
  let loop = ''
  for (const field of request.headers) {
    const [name, value] = field
    if (name === 'cdn-loop') loop += `${value}, `
    if (NOT_PASSED.has(name) || replaced.has(name) || named.includes(name)) continue
    if (name === 'cookie') {
      const kept = removeCookies(value, OWN_COOKIES)
      if (kept !== undefined) fields.push([name, kept])
    } else if (client.isPeerTrusted || !isTrustedOnlyField(name)) {
      fields.push(field)
    }
  }
  fields.push(['cdn-loop', `${loop}svc;${context.generation.config.scaling.instance_id}`])
  return fields
}

/** Names that Connection declares to belong to it. Nearly always it says nothing but "keep-alive" or "close". */
function namedByConnection(connection: string | undefined): readonly string[] {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return []
  return connection
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
}
