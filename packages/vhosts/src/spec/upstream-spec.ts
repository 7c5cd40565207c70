import type { PatternSpec, Template } from './template.ts'

/** Destination of requests. */
export type UpstreamTarget =
  /** Name of an upstream. `host`: as written, for `$proxy_host`. */
  | { readonly kind: 'fixed'; readonly upstream: string; readonly host: string }
  /** Written with variables: an upstream's name or `host:port`, found for each request. */
  | { readonly kind: 'computed'; readonly host: Template }

export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly readMs: number
  readonly sendMs: number
}

/** How requests of a location are passed on, whatever is spoken with the upstream. */
export interface PassSpec extends UpstreamTimeouts {
  readonly target: UpstreamTarget
  /** Words of `..._next_upstream`; [] for "off". */
  readonly nextUpstream: readonly string[]
  /** Most servers that a request is tried with; 0: all of the group. */
  readonly maxTries: number
  /** How long after its beginning a request may be tried with another server; 0: any time. */
  readonly triesMs: number
  readonly hideHeaders: readonly string[]
  /** Lower case: fields that clients see though they are hidden by default. */
  readonly passHeaders: readonly string[]
  /** Lower case: fields of responses that go to the client but have no effect here (`..._ignore_headers`). */
  readonly ignoredFields: readonly string[]
  /** True if responses whose status has an `error_page` are replaced by it. */
  readonly interceptsErrors: boolean
  readonly cache: CacheSpec | undefined
  /** True if the upstream gets the fields of requests (`..._pass_request_headers`). */
  readonly passesFields: boolean
  /** True if it gets their bodies (`..._pass_request_body`). */
  readonly passesBody: boolean
  /** Finds the addresses of hosts that variables name; undefined: there is none. */
  readonly resolver: ResolverSpec | undefined
}

export interface ProxySpec extends PassSpec {
  /** `computed`: the computed host of the target begins with it. */
  readonly scheme: 'http' | 'https' | 'computed'
  /**
   * URI part; it stands for the part of the path that the location matched, or, where it or the host has variables, for the whole
   * target. undefined: the path goes on as it came. A computed host may turn out to have a URI part as well, from its first "/" on.
   */
  readonly uri: Template | undefined
  /** Fields of the request to the upstream as written; an empty value removes the field. Host and Connection, if not here, have nginx's defaults. */
  readonly setHeaders: readonly { readonly name: string; readonly value: Template }[]
  /** `proxy_method`; absent, or empty: that of the request. */
  readonly method?: Template
  /** `proxy_set_body`; absent: that of the request. */
  readonly body?: Template
  /** Absent: cookies are passed on as they are. */
  readonly cookies?: CookieRules
  readonly httpVersion: '1.0' | '1.1'
  readonly isBuffered: boolean
  /** Of connections to `https` upstreams. */
  readonly tls: UpstreamTlsSpec
  /** `default`: nginx's rewrite of Location and Refresh from this proxy_pass to this location. */
  readonly redirects: 'default' | readonly { readonly from: Template | PatternSpec; readonly to: Template }[]
}

/** Settings of connections with TLS. */
export interface UpstreamTlsSpec {
  /** True if the handshake names the server (SNI). */
  readonly sendsName: boolean
  /** That name, which is also verified; absent: the host of the upstream. */
  readonly name?: Template
  /** True if the certificate of the upstream has to be valid for the name. */
  readonly isVerified: boolean
  /** Most certificates between that of the upstream and one that is trusted; absent: any number. */
  readonly maxDepth?: number
  /** Paths of files, in characters. `trusted` absent: the authorities of Node.js. */
  readonly trusted?: string
  readonly crl?: string
  readonly certificate?: { readonly cert: string; readonly key: string; readonly passwords?: string }
  readonly minVersion?: TlsVersion
  readonly maxVersion?: TlsVersion
  readonly ciphers?: string
}

type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'

/** One change of a text: what it is, or how it begins, and what stands for that. */
export interface TextChange {
  readonly from: Template | PatternSpec
  readonly to: Template
}

/** `proxy_cookie_flags`: flags that a cookie gets or loses. */
export interface CookieFlagsRule {
  readonly cookie: Template | PatternSpec
  readonly flags: readonly Template[]
}

/** Changes of Set-Cookie fields. The first rule of each kind that is about a cookie counts. */
export interface CookieRules {
  readonly domains: readonly TextChange[]
  readonly paths: readonly TextChange[]
  readonly flags: readonly CookieFlagsRule[]
}

/** A protocol of CGI applications. */
export type GatewayKind = 'fastcgi' | 'uwsgi' | 'scgi'

export interface GatewaySpec extends PassSpec {
  readonly params: readonly { readonly name: string; readonly value: Template; readonly isIfNotEmpty: boolean }[]
  /** Of FastCGI. */
  readonly index: Template | undefined
  readonly splitPathInfo: PatternSpec | undefined
  /** Of uwsgi. `string` follows the parameters. */
  readonly packet: { readonly modifier1: number; readonly modifier2: number; readonly string: string }
  /** True if the connection is encrypted (`suwsgi://`). */
  readonly isTls: boolean
  /** Of such connections. */
  readonly tls: UpstreamTlsSpec
}

/** The handler of a location that passes requests on. */
export type UpstreamContent = ({ readonly kind: 'proxy' } & ProxySpec) | GatewayContent

/** Of one protocol. */
export type GatewayContent = { [Kind in GatewayKind]: { readonly kind: Kind } & GatewaySpec }[GatewayKind]

/** `proxy_cache`, or that of another protocol, that is on. */
export interface CacheSpec {
  /** Entries of one zone are not found in another. */
  readonly zone: string
  readonly valid: readonly { readonly statuses: readonly number[] | 'any'; readonly seconds: number }[]
  /** Words of `proxy_cache_use_stale`; [] for "off". */
  readonly useStale: readonly string[]
  readonly bypass: readonly Template[]
  readonly noCache: readonly Template[]
  /** Text that tells the responses of a path apart, in place of its query and target; absent: those do. */
  readonly key?: Template
  /** How often a response must have been requested before it is stored; absent: once. */
  readonly minUses?: number
  /** True if the stale response is sent at once where `updating` allows it, and refreshed meanwhile. */
  readonly isRefreshedBehind?: boolean
  /** Lower case: fields of responses that do not count. */
  readonly ignoredFields: readonly string[]
}

export interface UpstreamSpec {
  readonly name: string
  /** `random_two`: of two servers at random the less loaded one. */
  readonly balance: 'round_robin' | 'least_conn' | 'ip_hash' | 'hash' | 'consistent_hash' | 'random' | 'random_two'
  /** Text of `hash`. */
  readonly hashKey?: Template
  /** Idle connections kept for each worker; undefined: the default of the protocol. */
  readonly keepalive: number | undefined
  /** When a connection is not used again, as far as the group says. */
  readonly reuse?: { readonly idleMs?: number; readonly requests?: number; readonly ageMs?: number }
  /** True if its limits count for all workers together (`zone`). */
  readonly hasZone?: boolean
  /** Resolves names of servers at run time. */
  readonly resolver?: ResolverSpec
  readonly servers: readonly UpstreamServerSpec[]
}

export interface UpstreamServerSpec {
  /** "host:port", with brackets for IPv6, or "unix:/path". */
  readonly address: string
  readonly weight: number
  /** 0: failures are not counted. */
  readonly maxFails: number
  readonly failTimeoutMs: number
  readonly isBackup: boolean
  readonly isDown: boolean
  /** Most requests in flight; absent: any number. */
  readonly maxConns?: number
  /** As written, where that differs from the address. */
  readonly written?: string
  /** True if its name is resolved at run time (`resolve`). */
  readonly isResolved?: boolean
}

/** `resolver` and `resolver_timeout`. */
export interface ResolverSpec {
  /** "host:port", with brackets for IPv6. */
  readonly servers: readonly string[]
  /** Time for which answers are used, in milliseconds; undefined: their own. */
  readonly validMs: number | undefined
  readonly hasIpv4: boolean
  readonly hasIpv6: boolean
  /** Limit for one name, in milliseconds. */
  readonly timeoutMs: number
}
