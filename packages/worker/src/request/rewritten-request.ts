import type { HttpRequest } from '@svc/http'

/** The target of a rewritten request. */
interface RewrittenTarget {
  /** Path as it would be sent: encoded. */
  readonly rawPath: string
  /** The same, normalised. */
  readonly path: string
  readonly query: string
  /** @default that of the request */
  readonly method?: string
}

/** A request as the stages behind a rewrite see it: the request of the client with another target. */
export function rewrittenRequest(
  request: HttpRequest,
  { rawPath, path, query, method = request.method }: RewrittenTarget,
): HttpRequest {
  const { scheme, host, httpVersion, listener, serverName, connection, connectionPlace } = request
  const target = query === '' ? rawPath : `${rawPath}?${query}`
  return {
    method,
    target,
    rawPath,
    path,
    query,
    scheme,
    host,
    httpVersion,
    listener,
    serverName,
    connection,
    connectionPlace,
    // These are read when they are needed, and not before.
    get remoteAddress() {
      return request.remoteAddress
    },
    get headers() {
      return request.headers
    },
    header: (name) => request.header(name),
  }
}
