import { Body, type BodyInit } from './body.ts'
import type { ByteQueue } from './byte-queue.ts'
import { Headers, type HeadersInit } from './headers.ts'
import { URL } from './url.ts'

/** Second argument of `new Response`. */
interface ResponseInit {
  status?: number
  statusText?: string
  headers?: HeadersInit
}

/** Facts about a response that only the guest can set. */
interface ResponseOrigin {
  readonly url: string
  readonly isRedirected: boolean
  readonly type: 'basic' | 'default' | 'error' | 'opaqueredirect'
}

const nullBodyStatuses = new Set([101, 103, 204, 205, 304])
export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const made: ResponseOrigin = { url: '', isRedirected: false, type: 'default' }

function checkedStatus(status: unknown): number {
  const code = Math.trunc(Number(status))
  if (!(code >= 200 && code <= 599))
    throw new RangeError(`The status provided (${String(status)}) is outside the range [200, 599]`)
  return code
}

/** Fetch standard `Response`. */
export class Response extends Body {
  readonly headers: Headers
  #status = 200
  #statusText = ''
  #origin = made

  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    super()
    const details = init ?? {}
    this.#status = details.status === undefined ? 200 : checkedStatus(details.status)
    this.#statusText = String(details.statusText ?? '')
    if (/[^\t\x20-\x7e\x80-\xff]/.test(this.#statusText)) throw new TypeError('Invalid statusText')
    this.headers = Headers.guard(new Headers(details.headers), 'response')
    if (body === null || body === undefined) return
    if (nullBodyStatuses.has(this.#status)) throw new TypeError(`A response with status ${this.#status} cannot have a body`)
    const type = this.initBody(body)
    if (type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', type)
  }

  get status(): number {
    return this.#status
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299
  }

  get statusText(): string {
    return this.#statusText
  }

  get url(): string {
    return this.#origin.url
  }

  get redirected(): boolean {
    return this.#origin.isRedirected
  }

  get type(): string {
    return this.#origin.type
  }

  clone(): Response {
    const copy = new Response(null, { headers: this.headers })
    Body.share(this, copy)
    copy.#status = this.#status
    copy.#statusText = this.#statusText
    copy.#origin = this.#origin
    return copy
  }

  protected override contentType(): string {
    return this.headers.get('content-type') ?? ''
  }

  get [Symbol.toStringTag](): string {
    return 'Response'
  }

  static json(data: unknown, init: ResponseInit = {}): Response {
    const text = JSON.stringify(data)
    if (text === undefined) throw new TypeError('The value cannot be written as JSON')
    const headers = new Headers(init?.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return new Response(text, { ...init, headers })
  }

  static redirect(url: unknown, status = 302): Response {
    if (!redirectStatuses.has(status)) throw new RangeError(`Invalid redirect status: ${status}`)
    const location = new URL(String(url)).href
    return new Response(null, { status, headers: { location } })
  }

  static error(): Response {
    const response = new Response()
    response.#status = 0
    response.#origin = { ...made, type: 'error' }
    Headers.guard(response.headers, 'immutable')
    return response
  }

  /** For the guest itself: a response that came over the network. */
  static received(
    head: { status: number; statusText: string; headers: HeadersInit },
    origin: ResponseOrigin,
    body: ByteQueue | null,
  ): Response {
    const response = new Response(null, { headers: head.headers })
    response.initBody(nullBodyStatuses.has(head.status) ? null : body)
    response.#status = head.status
    response.#statusText = head.statusText
    response.#origin = origin
    Headers.guard(response.headers, 'immutable')
    return response
  }
}
