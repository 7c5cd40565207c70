import type { Template } from './template.ts'

/** Protection of a location beside `allow`, `deny` and `auth_basic`. */
export interface GuardSpec {
  /** `auth_request`; undefined: off. */
  readonly authRequest: AuthRequestSpec | undefined
  /** `limit_req`; undefined: there is none. */
  readonly requestLimits: RequestLimitSpec | undefined
  /** `limit_conn`; undefined: there is none. */
  readonly connectionLimits: ConnectionLimitSpec | undefined
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
