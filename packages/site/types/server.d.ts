/** `svc/server` and `next/server`: for route handlers and middleware. */
import type { CookieOptions, RequestCookie, ResponseCookie } from './headers.js'

/** A URL whose parts can be changed before it is used for a rewrite or redirect. */
export declare class NextURL extends URL {
  readonly basePath: string
  readonly locale: string
  clone(): NextURL
}

/** Cookies of a request; changes are seen by what follows when the request is passed on. */
export declare class RequestCookies {
  readonly size: number
  get(name: string | { readonly name: string }): RequestCookie | undefined
  getAll(name?: string | { readonly name: string }): RequestCookie[]
  has(name: string): boolean
  set(name: string, value: string): this
  set(cookie: RequestCookie): this
  delete(name: string): boolean
  delete(names: readonly string[]): boolean[]
  clear(): this
  toString(): string
  [Symbol.iterator](): Iterator<[string, RequestCookie]>
}

/** Cookies that a response sets. */
export declare class ResponseCookies {
  get(name: string): ResponseCookie | undefined
  getAll(name?: string): ResponseCookie[]
  has(name: string): boolean
  set(name: string, value: string, options?: CookieOptions): this
  set(cookie: ResponseCookie): this
  delete(name: string | Omit<ResponseCookie, 'value' | 'expires'>): this
  toString(): string
}

export declare class NextRequest extends Request {
  constructor(input: Request | string | URL, init?: RequestInit)
  readonly nextUrl: NextURL
  readonly cookies: RequestCookies
}

export interface MiddlewareResponseInit extends ResponseInit {
  /** Replaces the original request for the route. */
  readonly request?: { readonly headers?: Headers }
}

export declare class NextResponse<Body = unknown> extends Response {
  constructor(body?: BodyInit | null, init?: ResponseInit)
  readonly cookies: ResponseCookies
  /** Only for the type: what `json` was made of. */
  readonly __body?: Body
  static json<JsonBody>(body: JsonBody, init?: ResponseInit): NextResponse<JsonBody>
  /** @param init status (default 307) or more */
  static redirect(url: string | URL, init?: number | ResponseInit): NextResponse
  /** Middleware: answer with another path of this site. */
  static rewrite(url: string | URL, init?: MiddlewareResponseInit): NextResponse
  /** Middleware: go on, with other request or response fields. */
  static next(init?: MiddlewareResponseInit): NextResponse
}

/** Second argument of a middleware. */
export interface NextFetchEvent {
  /** Lets work go on after the response. */
  waitUntil(promise: Promise<unknown>): void
}

// biome-ignore lint/suspicious/noConfusingVoidType: a middleware may just end without a return
type MiddlewareResult = Response | null | undefined | void
export type NextMiddleware = (request: NextRequest, event: NextFetchEvent) => MiddlewareResult | Promise<MiddlewareResult>

type MatcherCondition =
  | { readonly type: 'header' | 'cookie' | 'query'; readonly key: string; readonly value?: string }
  | { readonly type: 'host'; readonly value: string }
/** One entry of `config.matcher`. */
export type Matcher =
  | string
  | { readonly source: string; readonly has?: readonly MatcherCondition[]; readonly missing?: readonly MatcherCondition[] }
/** `config` of a middleware. */
export interface MiddlewareConfig {
  readonly matcher?: Matcher | readonly Matcher[]
}

/** Runs a task when the response has been sent. */
export declare function after(task: Promise<unknown> | (() => unknown)): void
