import { constants, type ServerHttp2Stream } from 'node:http2'
import { codeOf } from '@svc/core'
import { formatHttpDate, type HeaderList } from '@svc/http'
import { LINGER_MS } from '../exchange/lingering.ts'
import type { BodySource } from './node-body.ts'
import type { NodeHead } from './node-head.ts'
import type { Framing, ResponseWire } from './response-wire.ts'

/** Fields that may come once only, in HTTP/2 as Node writes it; a second one is an error there. */
const singleFields: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-encoding',
  'content-language',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
])

interface RespondOptions {
  readonly endStream?: boolean
  readonly waitForTrailers?: boolean
}

const withBody: RespondOptions = Object.freeze({})
const withTrailers: RespondOptions = Object.freeze({ waitForTrailers: true })
const withoutBody: RespondOptions = Object.freeze({ endStream: true })

/** The raw form of `respond`, which keeps the order of fields: Node has it before its types do. */
interface RawStream {
  respond(headers: readonly string[], options: RespondOptions): void
}

/** The session of a request, as far as its responses are concerned. */
interface ResponseSession {
  /** Requests whose responses have not left yet. */
  pending: number
}

/** The response side of a request by HTTP/2 (RFC 9113), and the source of its body. */
export class Http2Wire implements ResponseWire, BodySource {
  readonly isMultiplexed = true
  readonly wantsClose = false
  readonly needsLength = false
  readonly out: ServerHttp2Stream
  readonly #session: ResponseSession
  readonly #request: readonly string[]
  #trailers: HeaderList = []

  /** @param request its fields: names and values in turn */
  constructor(stream: ServerHttp2Stream, request: readonly string[], session: ResponseSession) {
    this.out = stream
    this.#request = request
    this.#session = session
  }

  get isGone(): boolean {
    return this.out.closed || this.out.destroyed
  }

  get stream(): ServerHttp2Stream {
    return this.out
  }

  hasArrived(): boolean {
    const { state } = this.out.state
    return state === constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE || state === constants.NGHTTP2_STREAM_STATE_CLOSED
  }

  isBroken(): boolean {
    return this.out.closed
  }

  over(): void {
    this.#session.pending--
  }

  head(head: NodeHead, { length }: Framing): void {
    const mayTrail = length === undefined && takesTrailers(this.#request)
    if (mayTrail) this.out.once('wantTrailers', () => this.out.sendTrailers(Object.fromEntries(joined(this.#trailers))))
    this.#respond(head, length, mayTrail ? withTrailers : withBody)
  }

  showHead(): void {
    // It is a frame of its own, and waits for nothing.
  }

  bodiless(head: NodeHead, { length }: Framing): void {
    this.#respond(head, length, withoutBody)
  }

  end(chunk: Uint8Array | undefined, trailers: HeaderList): void {
    this.#trailers = trailers
    if (chunk === undefined) this.out.end()
    else this.out.end(chunk)
  }

  informational({ status, fields }: NodeHead): void {
    if (this.isGone || this.out.headersSent) return
    this.out.additionalHeaders({ ':status': status, ...Object.fromEntries(joined(pairs(fields))) })
  }

  cut(): void {
    this.out.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  stopRequest(): void {
    // Not at once: a reset overtakes the bytes of the response that the connection has not taken.
    const timer = setTimeout(() => this.out.close(constants.NGHTTP2_NO_ERROR), LINGER_MS).unref()
    this.out.once('close', () => clearTimeout(timer))
  }

  #respond(head: NodeHead, length: number | undefined, options: RespondOptions): void {
    if (this.isGone) return
    const written = writtenFields(head, length)
    const stream = this.out as unknown as RawStream
    try {
      stream.respond(written, options)
    } catch (error) {
      if (codeOf(error) !== 'ERR_HTTP2_HEADER_SINGLE_VALUE') throw error
      stream.respond(withoutRepeated(written), options)
    }
  }
}

function takesTrailers(request: readonly string[]): boolean {
  // HTTP/2 allows no other value of this field (RFC 9113 section 8.2.2).
  return request.some((name, at) => at % 2 === 0 && name === 'te')
}

/**
 * The fields as Node takes them. Those of a head that is sent again and again are built once, and only their date changes: Node keeps the
 * list, but does not look at it again.
 */
function writtenFields(head: NodeHead, length: number | undefined): readonly string[] {
  const now = Date.now()
  const second = Math.trunc(now / 1000)
  const known = head.http2
  if (known !== undefined && known.length === length) {
    if (known.second !== second) known.fields[known.datePlace] = formatHttpDate(now)
    known.second = second
    return known.fields
  }
  const fields = [':status', String(head.status), ...head.fields]
  if (length !== undefined) fields.push('content-length', String(length))
  // Node would add it, to the list that is kept. No head has one of its own: the guard drops it.
  const datePlace = fields.push('date', formatHttpDate(now)) - 1
  head.http2 = { length, fields, datePlace, second }
  return fields
}

/** The first of each field that may come once only, and all others. */
function withoutRepeated(fields: readonly string[]): string[] {
  const seen = new Set<string>()
  return pairs(fields)
    .filter(([name]) => {
      const key = name.toLowerCase()
      if (!singleFields.has(key)) return true
      const isFirst = !seen.has(key)
      seen.add(key)
      return isFirst
    })
    .flat()
}

/** Each field once, with all its values (RFC 9110 section 5.3): one that comes twice may be an error. */
function joined(fields: HeaderList): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, value] of fields) {
    const key = name.toLowerCase()
    const before = found.get(key)
    found.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return found
}

function pairs(fields: readonly string[]): Array<[name: string, value: string]> {
  const found: Array<[string, string]> = []
  for (let i = 0; i < fields.length; i += 2) found.push([fields[i] ?? '', fields[i + 1] ?? ''])
  return found
}
