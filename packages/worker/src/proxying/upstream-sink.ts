import { asError, RecentWeakMap } from '@svc/core'
import {
  BLOCK_BYTES,
  type BodyBlocks,
  type BodyWriter,
  decodePath,
  type HeaderList,
  MAX_LENT_BYTES,
  problemOf,
  type ResponseHead,
  type ResponseSource,
} from '@svc/http'
import type { SwitchSink } from '@svc/upstream'
import type { LocationExchange } from '../vhost/location-handler.ts'
import type { CookieRewriter } from './cookie-rewriter.ts'
import type { RedirectRewriter } from './redirect-rewriter.ts'

/** How far a buffered answer is read ahead of its client. */
const READ_AHEAD_BYTES = 256 * 1024

/** Fields for nginx, and for a location here: no client sees them. */
const ACCEL_FIELDS = [
  'x-accel-buffering',
  'x-accel-charset',
  'x-accel-expires',
  'x-accel-limit-rate',
  'x-accel-redirect',
] as const

/** The fields (lower case) that clients do not see: those of a kind of upstream, and those that a location names. */
export function hiddenFields(
  ofKind: readonly string[],
  { hideHeaders, passHeaders }: { readonly hideHeaders: readonly string[]; readonly passHeaders: readonly string[] },
): ReadonlySet<string> {
  const hidden = new Set([...ofKind, ...ACCEL_FIELDS, ...hideHeaders.map((name) => name.toLowerCase())])
  for (const name of passHeaders) hidden.delete(name)
  return hidden
}

/** How the responses of an upstream become answers of a location. */
interface ResponseRules {
  /** Names (lower case) that clients do not see. */
  readonly hidden: ReadonlySet<string>
  readonly redirects: RedirectRewriter | undefined
  /** undefined: cookies are passed on as they are. */
  readonly cookies: CookieRewriter | undefined
  /** True if a slow client lets the server go on for a while. */
  readonly isBuffered: boolean
  /** True if responses whose status has a page are replaced by it. */
  readonly interceptsErrors: boolean
  /** True if X-Accel-Redirect has an effect. */
  readonly mayRedirectInside: boolean
  /** For bytes in flight to clients. */
  readonly blocks: BodyBlocks
}

/** Fields of a response as its client gets them. */
interface FilteredFields {
  readonly headers: HeaderList
  /** True if the upstream names another path of this server in place of a response. */
  readonly redirectsInside: boolean
}

/**
 * Fields that clients get. A server that sends the same again and again has it parsed, filtered and written out once: lists are
 * frozen and cached by their inputs.
 */
export class FieldFilter {
  readonly #rules: ResponseRules
  readonly #known = new RecentWeakMap<HeaderList, FilteredFields>()

  constructor(rules: ResponseRules) {
    this.#rules = rules
  }

  get rules(): ResponseRules {
    return this.#rules
  }

  apply(exchange: LocationExchange, headers: HeaderList): FilteredFields {
    const known = this.#known.get(headers)
    if (known !== undefined) return known
    const { hidden, cookies, mayRedirectInside } = this.#rules
    let isOwn = false
    let redirectsInside = false
    const kept: (readonly [string, string])[] = []
    for (const [name, value] of headers) {
      if (name === 'x-accel-redirect') redirectsInside = mayRedirectInside
      if (hidden.has(name)) continue
      const changed = rewritten(this.#rules, exchange, name, value)
      if (name === 'location' || name === 'refresh' || (name === 'set-cookie' && cookies !== undefined)) isOwn = true
      kept.push([name, changed])
    }
    // Its target may depend on the request.
    if (isOwn || !Object.isFrozen(headers)) return { headers: kept, redirectsInside }
    const filtered = { headers: Object.freeze(kept), redirectsInside }
    this.#known.set(headers, filtered)
    return filtered
  }
}

function rewritten({ redirects, cookies }: ResponseRules, exchange: LocationExchange, name: string, value: string): string {
  if (name === 'location') return redirects?.location(exchange, value) ?? value
  if (name === 'refresh') return redirects?.refresh(exchange, value) ?? value
  return name === 'set-cookie' ? (cookies?.rewrite(exchange, value) ?? value) : value
}

/** Sends the response of an upstream to the client: no faster than the client takes it, and whole or visibly cut. */
export class UpstreamSink implements SwitchSink {
  readonly #exchange: LocationExchange
  readonly #filter: FieldFilter
  #source: ResponseSource | undefined
  #writer: BodyWriter | undefined
  #aheadBytes = 0
  /** True if the upstream was asked for the head alone, whatever the client asked for. */
  readonly #isHeadAlone: boolean
  #isOver = false

  constructor(exchange: LocationExchange, filter: FieldFilter, isHeadAlone = false) {
    this.#isHeadAlone = isHeadAlone
    this.#exchange = exchange
    this.#filter = filter
  }

  /** Ties the request to the client, which may disconnect. */
  attach(source: ResponseSource): void {
    const isFirst = this.#source === undefined
    this.#source = source
    if (!isFirst) return
    const { context } = this.#exchange
    // The location limits the time of the upstream.
    context.exchange.liftAnswerLimit()
    context.onClosed(() => {
      this.#isOver = true
      this.#source?.abort()
    })
  }

  switched(): void {
    this.#isOver = true
    this.#exchange.context.switched()
  }

  informational(head: ResponseHead): void {
    const { headers } = this.#filter.apply(this.#exchange, head.headers)
    this.#guarded(() => this.#exchange.context.informational({ status: head.status, headers }))
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.#begin(head, this.#isHeadAlone && this.#exchange.context.request.method !== 'HEAD' ? 0 : length, undefined)
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.#begin(head, body.byteLength, body)
  }

  chunk(bytes: Uint8Array): boolean {
    const writer = this.#writer
    if (writer === undefined || this.#isOver) return true
    if (this.#write(writer, bytes)) {
      this.#aheadBytes = 0
      return true
    }
    this.#aheadBytes += bytes.byteLength
    return this.#filter.rules.isBuffered && this.#aheadBytes < READ_AHEAD_BYTES
  }

  end(trailers: HeaderList): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#guarded(() => this.#writer?.end(undefined, trailers.length === 0 ? undefined : trailers))
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const { status } = problemOf(error)
    this.#exchange.context.reportFailure(error, status)
    if (this.#writer !== undefined) this.#writer.abort()
    else if (!this.#exchange.context.isAnswered) this.#exchange.fail(status)
  }

  /** Copies lent bytes: into a block if they fill at least half of one. */
  #write(writer: BodyWriter, bytes: Uint8Array): boolean {
    const { blocks } = this.#filter.rules
    if (bytes.byteLength <= BLOCK_BYTES / 2 || bytes.byteLength > BLOCK_BYTES) return writer.write(Buffer.from(bytes))
    const block = blocks.take()
    block.set(bytes)
    return writer.write(block.subarray(0, bytes.byteLength), () => blocks.give(block))
  }

  #begin(head: ResponseHead, length: number | undefined, body: Uint8Array | undefined): void {
    if (this.#isOver) return
    try {
      this.#answer(head, length, body)
    } catch (error) {
      this.fail(asError(error))
      this.#source?.abort()
    }
  }

  #answer(head: ResponseHead, length: number | undefined, body: Uint8Array | undefined): void {
    const exchange = this.#exchange
    exchange.noteUpstream(head.headers)
    const { headers, redirectsInside } = this.#filter.apply(exchange, head.headers)
    if (redirectsInside && innerRedirect(exchange, head.headers)) {
      this.#isOver = true
      this.#source?.abort()
      return
    }
    if (this.#filter.rules.interceptsErrors && head.status >= 300 && exchange.hasErrorPage(head.status)) {
      this.#isOver = true
      this.#source?.abort()
      const challenges = head.status === 401 ? headers.filter(([name]) => name === 'www-authenticate') : []
      exchange.fail(head.status, challenges)
      return
    }
    keepOwnType(exchange, headers)
    const { request } = exchange.context
    const final = { status: head.status, headers }
    if (body === undefined || request.method === 'HEAD') {
      this.#stream(final, length)
      if (body !== undefined) this.end([])
      return
    }
    this.#isOver = true
    exchange.context.respondCompressed(final, this.#mayBeKept(body) ? Buffer.from(body) : body)
  }

  #stream(head: ResponseHead, length: number | undefined): void {
    const writer = this.#exchange.context.streamCompressed(head, length === undefined ? {} : { length })
    this.#writer = writer
    writer.onDrain(() => {
      this.#aheadBytes = 0
      this.#source?.resume()
    })
  }

  /** True if the body may be used after this call: it is compressed, or the client takes only a part at first. */
  #mayBeKept(body: Uint8Array): boolean {
    if (body.byteLength > MAX_LENT_BYTES) return true
    return this.#exchange.context.mayCompress && this.#exchange.context.request.header('accept-encoding') !== undefined
  }

  #guarded(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#exchange.context.reportFailure(asError(error), 500)
    }
  }
}

/** Fields of the upstream's answer that the response at the other path carries, as with nginx. */
const CARRIED: ReadonlySet<string> = new Set([
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-type',
  'expires',
  'set-cookie',
])

/** A segment ".." of a path, escaped or not: nginx takes no such path, wherever it leads. */
const LEADS_UP = /(?:^|\/|%2f)(?:\.|%2e){2}(?:$|\/|%2f)/i

/** Goes on at the path that an upstream names in X-Accel-Redirect, if it does; 404 for one that has "..". False: it names none. */
function innerRedirect(exchange: LocationExchange, headers: HeaderList): boolean {
  const target = headers.find(([name]) => name === 'x-accel-redirect')?.[1]
  if (target === undefined) return false
  const { context } = exchange
  const carried = headers.filter(([name]) => CARRIED.has(name))
  context.responseHeaders = [...context.responseHeaders, ...carried]
  if (target.startsWith('@')) {
    exchange.redirectInside({ named: target.slice(1) })
    return true
  }
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const decoded = path.startsWith('/') && !LEADS_UP.test(path) ? decodePath(path) : undefined
  if (decoded === undefined) exchange.fail(404)
  else exchange.redirectInside({ uri: decoded.path, args: question === -1 ? '' : target.slice(question + 1) })
  return true
}

/** Drops the Content-Type that the first upstream set, if the response at the other path has one of its own. */
function keepOwnType({ context }: LocationExchange, headers: HeaderList): void {
  const { responseHeaders } = context
  if (responseHeaders.length === 0 || !headers.some(([name]) => name === 'content-type')) return
  context.responseHeaders = responseHeaders.filter(([name]) => name.toLowerCase() !== 'content-type')
}
