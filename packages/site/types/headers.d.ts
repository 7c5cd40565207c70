/** `svc/headers` and `next/headers`. Results are promises that can also be used without awaiting them. */
import type { Readable } from './site.js'

/** Header fields of the request. */
export interface ReadonlyHeaders extends Omit<Headers, 'append' | 'delete' | 'set'> {}

/** A cookie of the request. */
export interface RequestCookie {
  readonly name: string
  readonly value: string
}

/** A cookie to be set. `expires` in milliseconds since the epoch or as a date, `maxAge` in seconds. */
export interface ResponseCookie {
  name: string
  value: string
  path?: string
  domain?: string
  expires?: number | Date
  maxAge?: number
  secure?: boolean
  httpOnly?: boolean
  sameSite?: boolean | 'lax' | 'strict' | 'none'
  partitioned?: boolean
  priority?: 'low' | 'medium' | 'high'
}
export type CookieOptions = Omit<ResponseCookie, 'name' | 'value'>

/** Cookies of the request. */
export interface ReadonlyRequestCookies extends Iterable<[string, RequestCookie]> {
  readonly size: number
  get(name: string): RequestCookie | undefined
  getAll(name?: string): RequestCookie[]
  has(name: string): boolean
  toString(): string
}

/** Cookies of the request that can be set and deleted: in route handlers only. */
export interface CookieStore extends ReadonlyRequestCookies {
  set(name: string, value: string, options?: CookieOptions): this
  set(cookie: ResponseCookie): this
  delete(name: string | Omit<ResponseCookie, 'value' | 'expires'>): this
}

/** Says if the visitor sees drafts; switched in route handlers only. */
export interface DraftMode {
  readonly isEnabled: boolean
  enable(): void
  disable(): void
}

/** The header fields of the request. A page that reads them is not cached. */
export declare function headers(): Readable<ReadonlyHeaders>
/** The cookies of the request. A page that reads them is not cached. */
export declare function cookies(): Readable<CookieStore>
export declare function draftMode(): Readable<DraftMode>
