import { isCacheSafePath, normalizePath, parseHost } from '@svc/http'

/** The resource that a response belongs to. */
export interface ProxyResource {
  readonly scheme: 'http' | 'https'
  /** As the client named it, lower case, with its port. */
  readonly host: string
  /** Normalised path and query as sent. */
  readonly path: string
  readonly query: string
  /** Label of the site. */
  readonly label: string
  /** The inputs of the response beside its URI: where the request was sent, and in which form. */
  readonly via: readonly string[]
}

/** Cache address of a response. */
export interface ProxyAddress {
  readonly key: string
  /** Absolute and normalised, for comparison by invalidation. */
  readonly uri: string
  /** Host name without port, for purges. */
  readonly hostname: string
  readonly path: string
  readonly label: string
}

/** A port that its scheme has anyway says nothing. */
const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** The address of a resource; undefined: no layer may store its responses. */
export function proxyAddress({ scheme, host, path, query, label, via }: ProxyResource): ProxyAddress | undefined {
  const parsed = parseHost(host)
  if (parsed === 'bad_host' || !isCacheSafePath(path)) return undefined
  const { hostname, port } = parsed
  const authority = port === undefined || port === DEFAULT_PORTS[scheme] ? hostname : `${hostname}:${port}`
  const uri = `${scheme}://${authority}${path}${query === '' ? '' : `?${query}`}`
  return { key: [label, uri, ...via].join('\0'), uri, hostname, path, label }
}

/** A URL as `ProxyAddress.uri` has it; undefined: its path is none. */
export function normalizedUri({ protocol, host, pathname, search }: URL): string | undefined {
  const path = normalizePath(pathname)
  return path === undefined ? undefined : `${protocol}//${host}${path}${search}`
}
