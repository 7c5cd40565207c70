import { AbortSignal } from '../events/abort-signal.ts'
import { Body, type BodyInit } from './body.ts'
import type { ByteQueue } from './byte-queue.ts'
import { Headers, type HeadersInit } from './headers.ts'
import { URL } from './url.ts'

/** Second argument of `new Request` and of `fetch`. Unknown members are kept for helpers that look for them (`next`). */
export interface RequestInit {
  method?: string
  headers?: HeadersInit
  body?: BodyInit | null
  redirect?: 'follow' | 'error' | 'manual'
  signal?: AbortSignal | null
  cache?: string
  credentials?: string
  duplex?: string
  integrity?: string
  keepalive?: boolean
  mode?: string
  referrer?: string
  referrerPolicy?: string
  next?: unknown
}

const upperCaseMethods = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH'])
const redirectModes = new Set(['follow', 'error', 'manual'])

function normalMethod(method: unknown): string {
  const text = String(method)
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError(`'${text}' is not a valid HTTP method`)
  const upper = text.toUpperCase()
  if (upper === 'CONNECT' || upper === 'TRACE' || upper === 'TRACK') throw new TypeError(`'${text}' HTTP method is unsupported`)
  return upperCaseMethods.has(upper) ? upper : text
}

function normalUrl(input: unknown): string {
  const url = new URL(String(input))
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`Request cannot be made from a URL that includes credentials: ${url.href}`)
  return url.href
}

/** Fetch standard `Request`, for incoming requests and for `fetch`. */
export class Request extends Body {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly redirect: string
  readonly signal: AbortSignal
  readonly cache: string
  readonly credentials: string
  readonly integrity: string
  readonly keepalive: boolean
  readonly mode: string
  readonly referrer: string
  readonly referrerPolicy: string
  readonly destination = ''
  readonly duplex = 'half'

  constructor(input: unknown, init: RequestInit = {}) {
    super()
    const from = input instanceof Request ? input : undefined
    const details = init ?? {}
    this.url = from === undefined ? normalUrl(input) : from.url
    this.method = details.method === undefined ? (from?.method ?? 'GET') : normalMethod(details.method)
    this.headers = Headers.guard(new Headers(details.headers ?? from?.headers), 'request')
    this.redirect = String(details.redirect ?? from?.redirect ?? 'follow')
    if (!redirectModes.has(this.redirect)) throw new TypeError(`Invalid redirect mode: ${this.redirect}`)
    const signal = details.signal === undefined ? from?.signal : details.signal
    if (signal !== null && signal !== undefined && !(signal instanceof AbortSignal))
      throw new TypeError('signal must be an AbortSignal')
    this.signal = signal === null || signal === undefined ? AbortSignal.create() : AbortSignal.any([signal])
    this.cache = String(details.cache ?? from?.cache ?? 'default')
    this.credentials = String(details.credentials ?? from?.credentials ?? 'same-origin')
    this.integrity = String(details.integrity ?? from?.integrity ?? '')
    this.keepalive = Boolean(details.keepalive ?? from?.keepalive)
    this.mode = String(details.mode ?? from?.mode ?? 'cors')
    this.referrer = String(details.referrer ?? from?.referrer ?? 'about:client')
    this.referrerPolicy = String(details.referrerPolicy ?? from?.referrerPolicy ?? '')
    this.#takeBody(details.body, from)
  }

  #takeBody(body: BodyInit | null | undefined, from: Request | undefined): void {
    const isGiven = body !== null && body !== undefined
    const hasBody = isGiven || (from !== undefined && from.body !== null)
    if (hasBody && (this.method === 'GET' || this.method === 'HEAD'))
      throw new TypeError('Request with GET/HEAD method cannot have body')
    if (!isGiven) {
      if (from !== undefined && hasBody) Body.move(from, this)
      return
    }
    const type = this.initBody(body)
    if (type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', type)
  }

  clone(): Request {
    const copy = Request.#bare(this)
    Body.share(this, copy)
    return copy
  }

  static #bare(from: Request): Request {
    const { method, headers, redirect, signal, cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = from
    const init = { method, headers, signal, cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy }
    return new Request(from.url, { ...init, redirect: redirect as 'follow' })
  }

  protected override contentType(): string {
    return this.headers.get('content-type') ?? ''
  }

  get [Symbol.toStringTag](): string {
    return 'Request'
  }

  /** For the guest itself: the request that a site answers. Any method may come with a body. */
  static received(
    url: string,
    init: { method: string; headers: HeadersInit; signal: AbortSignal },
    body: ByteQueue | null,
  ): Request {
    const request = new Request(url, { headers: init.headers, signal: init.signal })
    Object.defineProperty(request, 'method', { value: init.method, enumerable: true })
    request.initBody(body)
    return request
  }
}
