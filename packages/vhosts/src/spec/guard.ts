import type { PatternSpec, Template } from './template.ts'

/** Protection of a location beside `allow`, `deny` and `auth_basic`. */
export interface GuardSpec {
  /** `auth_request`; undefined: off. */
  readonly authRequest: AuthRequestSpec | undefined
  /** `limit_rate` and `limit_rate_after`, sizes; undefined: responses are sent as fast as possible. */
  readonly rate: { readonly limit: Template; readonly after: Template } | undefined
  /** Responses with 401 wait for so long. */
  readonly authDelayMs: number
  /** `limit_req`; undefined: there is none. */
  readonly requestLimits: RequestLimitSpec | undefined
  /** `limit_conn`; undefined: there is none. */
  readonly connectionLimits: ConnectionLimitSpec | undefined
  /** `valid_referers`; undefined: every one is valid. */
  readonly referers: RefererSpec | undefined
  readonly secureLink: SecureLinkSpec | undefined
}

/** `auth_request`, with the variables that its answer sets. */
export interface AuthRequestSpec {
  /** Path of the request that is made, as written. */
  readonly uri: string
  /** `auth_request_set`: values are read from the request that was made. */
  readonly sets: readonly { readonly variable: string; readonly value: Template }[]
}

/** A zone of `limit_req_zone` or `limit_conn_zone`. */
export interface LimitZoneSpec {
  readonly name: string
  /** Changes with the kind and the key: then the counts of the zone do not go on. */
  readonly id: string
  readonly key: Template
  readonly maxBytes: number
  /** Thousandths of requests per second; undefined: the zone counts requests in progress. */
  readonly rate: number | undefined
}

/** `limit_req`. */
export interface RequestLimitSpec {
  /** Thousandths of requests. */
  readonly limits: readonly { readonly zone: string; readonly burst: number; readonly delay: number }[]
  readonly status: number
  readonly isDryRun: boolean
}

/** `limit_conn`. */
export interface ConnectionLimitSpec {
  readonly limits: readonly { readonly zone: string; readonly max: number }[]
  readonly status: number
  readonly isDryRun: boolean
}

/** `valid_referers`. */
export interface RefererSpec {
  /** `none`: requests without the field are valid. */
  readonly acceptsNone: boolean
  /** `blocked`: so are those whose field has no scheme. */
  readonly acceptsBlocked: boolean
  /** Names as in `server_name`, each with the beginning of the path; "": any. */
  readonly hosts: readonly { readonly name: string; readonly path: string }[]
  /** Patterns of `server_name`, for the host name. */
  readonly hostPatterns: readonly PatternSpec[]
  /** For the text behind the scheme. */
  readonly patterns: readonly PatternSpec[]
}

/** `secure_link_secret`, or `secure_link` with `secure_link_md5`. */
export type SecureLinkSpec =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'md5'; readonly link: Template; readonly text: Template }

/** `geo`: `$variable` from an address. */
export interface GeoSpec {
  readonly kind: 'geo'
  readonly variable: string
  /** The text of the address; undefined: the client's. */
  readonly source: Template | undefined
  /** The last of one network counts. */
  readonly networks: readonly (readonly [network: string, value: string])[]
  readonly fallback: string
  /** Peers whose X-Forwarded-For names the client. */
  readonly proxies: readonly string[]
  readonly isRecursive: boolean
}

/** `split_clients`: `$variable` from the hash of a text. */
export interface SplitSpec {
  readonly kind: 'split'
  readonly variable: string
  readonly source: Template
  /** Hashes below a limit have its value; the last limit may be above all. */
  readonly parts: readonly { readonly below: number; readonly value: string }[]
}
