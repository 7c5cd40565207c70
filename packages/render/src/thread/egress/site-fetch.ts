import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { codeOf, messageOf } from '@svc/core'
import { type LoopMark, loopMember } from '@svc/protocol'
import { Agent, type Dispatcher, request } from 'undici'
import { RenderError } from '../../errors/errors.ts'
import type { EgressRules } from './address-policy.ts'
import { checkedConnector, EgressGuard } from './checked-connector.ts'
import { type HeaderList, outgoingHeaders, redirectedRequest } from './request-headers.ts'

/** A fetch of a site. */
export interface SiteRequest {
  readonly url: string
  readonly method: string
  readonly headers: HeaderList
  readonly redirect: 'follow' | 'manual' | 'error'
  readonly body: Uint8Array | undefined
  /** CDN-Loop of the request that is being answered, or "". */
  readonly cdnLoop: string
  /** Fields that continue the trace of that request; undefined: it has none. */
  readonly trace?: HeaderList | undefined
}

/** The head of an answer to a site's fetch. */
export interface SiteResponseHead {
  readonly status: number
  readonly statusText: string
  readonly headers: HeaderList
  readonly url: string
  readonly redirected: boolean
}

/** Takes the answer. The next piece comes when the promise of the last one has resolved. */
export interface SiteFetchSink {
  head(head: SiteResponseHead): void
  /** `bytes` belongs to the sink. */
  piece(bytes: Uint8Array): Promise<void>
}

/** Limits of every fetch. */
export interface SiteFetchLimits {
  readonly connectTimeoutMs: number
  /** From the start to the head of the last answer. */
  readonly headTimeoutMs: number
  /** Between two pieces of the body. */
  readonly idleTimeoutMs: number
  /** Of the body, decompressed. */
  readonly maxResponseBytes: number
  readonly maxRedirects: number
}

export const siteFetchLimits: SiteFetchLimits = {
  connectTimeoutMs: 10_000,
  headTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  maxResponseBytes: 64 * 1024 * 1024,
  maxRedirects: 20,
}

const forbiddenMethods = new Set(['CONNECT', 'TRACE', 'TRACK'])
const redirectStatus = new Set([301, 302, 303, 307, 308])
const nullBodyStatus = new Set([101, 103, 204, 205, 304])

/** Options of a `SiteFetch`. */
export interface SiteFetchOptions {
  readonly rules: EgressRules
  readonly loopMark: LoopMark
  readonly limits: SiteFetchLimits
}

/** The way of one site's code to the network. Keeps connections between requests. */
export class SiteFetch {
  readonly #options: SiteFetchOptions
  readonly #guard: EgressGuard
  readonly #agent: Agent

  constructor(options: SiteFetchOptions) {
    this.#options = options
    const { limits, rules } = options
    this.#guard = new EgressGuard(rules)
    this.#agent = new Agent({
      connect: checkedConnector(this.#guard, limits.connectTimeoutMs),
      headersTimeout: limits.headTimeoutMs,
      bodyTimeout: limits.idleTimeoutMs,
      // As many as an isolate may have in flight: endless streams must not block other fetches.
      connections: 256,
    })
  }

  /**
   * Runs a fetch until its body has been handed over.
   * @throws RENDER_FETCH_REFUSED, RENDER_FETCH_FAILED, RENDER_FETCH_TIMEOUT, and CORE_ABORTED's cause when `signal` fires
   */
  async run(site: SiteRequest, sink: SiteFetchSink, signal: AbortSignal): Promise<void> {
    const { limits } = this.#options
    const head = new AbortController()
    const timer = setTimeout(() => head.abort(tooLate(limits.headTimeoutMs)), limits.headTimeoutMs)
    const both = AbortSignal.any([signal, head.signal])
    try {
      const { response, url, isRedirected } = await this.#follow(site, both)
      clearTimeout(timer)
      sink.head({
        status: response.statusCode,
        statusText: response.statusText,
        headers: headerPairs(response),
        url: url.href,
        redirected: isRedirected,
      })
      await this.#readBody(site.method, response, sink)
    } catch (error) {
      throw fetchError(both.aborted ? both.reason : error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends all connections at once. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #follow(site: SiteRequest, signal: AbortSignal) {
    let url = parseUrl(site.url)
    let { method, headers } = site
    let { body } = site
    if (forbiddenMethods.has(method.toUpperCase()))
      throw new RenderError('RENDER_FETCH_REFUSED', `method ${method} is not allowed`)
    for (let redirects = 0; ; redirects++) {
      this.#guard.refuseAddress(url)
      const response = await this.#send(url, { method, headers, body, signal, cdnLoop: site.cdnLoop, trace: site.trace })
      const location = redirectStatus.has(response.statusCode) ? headerOf(response, 'location') : undefined
      if (location === undefined || site.redirect === 'manual') return { response, url, isRedirected: redirects > 0 }
      // An unread body would keep the connection from being used again.
      await response.body.dump()
      if (site.redirect === 'error') throw new RenderError('RENDER_FETCH_FAILED', `${url.href} redirects`)
      if (redirects >= this.#options.limits.maxRedirects) throw new RenderError('RENDER_FETCH_FAILED', 'too many redirects')
      const next = parseUrl(location, url.href)
      const rewritten = redirectedRequest(response.statusCode, method, headers, url, next)
      url = next
      method = rewritten.method
      headers = rewritten.headers
      if (!rewritten.keepsBody) body = undefined
    }
  }

  #send(url: URL, options: Pick<SiteRequest, 'method' | 'headers' | 'body' | 'cdnLoop' | 'trace'> & { signal: AbortSignal }) {
    const { method, headers, body, signal, cdnLoop, trace } = options
    const own = loopMember(this.#options.loopMark)
    const fields = outgoingHeaders(headers, { cdnLoop: cdnLoop === '' ? own : `${cdnLoop}, ${own}`, trace })
    return request(url, {
      dispatcher: this.#agent,
      method: method as Dispatcher.HttpMethod,
      headers: fields.flat(),
      body: body ?? null,
      signal,
      responseHeaders: 'raw',
    })
  }

  async #readBody(method: string, response: Dispatcher.ResponseData, sink: SiteFetchSink): Promise<void> {
    if (method === 'HEAD' || nullBodyStatus.has(response.statusCode)) {
      await response.body.dump()
      return
    }
    let count = 0
    for await (const piece of decoded(response)) {
      const bytes = piece as Buffer
      count += bytes.byteLength
      if (count > this.#options.limits.maxResponseBytes) {
        throw new RenderError('RENDER_FETCH_FAILED', `the response is larger than ${this.#options.limits.maxResponseBytes} bytes`)
      }
      await sink.piece(bytes)
    }
  }
}

function tooLate(timeoutMs: number): RenderError {
  return new RenderError('RENDER_FETCH_TIMEOUT', `no response within ${timeoutMs} ms`)
}

function parseUrl(text: string, base?: string): URL {
  const url = URL.parse(text, base)
  if (url === null) throw new RenderError('RENDER_FETCH_FAILED', `invalid URL: ${text.slice(0, 200)}`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RenderError('RENDER_FETCH_REFUSED', `scheme ${url.protocol.slice(0, -1)} is not allowed`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new RenderError('RENDER_FETCH_REFUSED', 'a URL with credentials is not allowed')
  }
  url.hash = ''
  return url
}

/** With `responseHeaders: 'raw'` the fields come as a flat list of names and values; names leave here in lower case. */
function headerPairs(response: Dispatcher.ResponseData): [string, string][] {
  const raw = response.headers as unknown as readonly (string | Buffer)[]
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    pairs.push([(raw[i]?.toString('latin1') ?? '').toLowerCase(), raw[i + 1]?.toString('latin1') ?? ''])
  }
  return pairs
}

function headerOf(response: Dispatcher.ResponseData, name: string): string | undefined {
  return headerPairs(response).find(([key]) => key === name)?.[1]
}

/** Undoes content codings, last applied first (RFC 9110 section 8.4). An unknown one is left as it is. */
function decoded(response: Dispatcher.ResponseData): AsyncIterable<unknown> {
  const codings = (headerOf(response, 'content-encoding') ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
  let stream: Readable = response.body
  for (const coding of codings.reverse()) {
    const decoder = decoderOf(coding)
    if (decoder === undefined) break
    const source = stream
    source.on('error', (error) => decoder.destroy(error))
    decoder.on('close', () => source.destroy())
    stream = source.pipe(decoder)
  }
  return stream
}

function decoderOf(coding: string) {
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip()
  if (coding === 'deflate') return createInflate()
  if (coding === 'br') return createBrotliDecompress()
  return undefined
}

/** Keeps messages that the site may see; others are those of Node and name no more than the address. */
function fetchError(error: unknown): Error {
  if (error instanceof RenderError) return error
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new RenderError('RENDER_FETCH_TIMEOUT', messageOf(error), { cause: error })
  }
  return new RenderError('RENDER_FETCH_FAILED', messageOf(error), { cause: error })
}
