import { constants, type ServerHttp2Stream } from 'node:http2'
import { codeOf } from '@svc/core'
import type { HeaderList } from '@svc/http'
import { LINGER_MS } from '../exchange/lingering.ts'
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

/** The raw form of `respond`, which keeps the order of fields: Node has it before its types do. */
type RawRespond = (headers: readonly string[], options: { endStream?: boolean; waitForTrailers?: boolean }) => void

/** The response side of a request by HTTP/2 (RFC 9113). */
export class Http2Wire implements ResponseWire {
  readonly isMultiplexed = true
  readonly wantsClose = false
  readonly needsLength = false
  readonly out: ServerHttp2Stream
  readonly over: () => void
  readonly #takesTrailers: boolean
  #trailers: HeaderList = []

  /**
   * @param takesTrailers true if the client has said that it understands trailers
   * @param over see `ResponseWire`
   */
  constructor(stream: ServerHttp2Stream, takesTrailers: boolean, over: () => void) {
    this.out = stream
    this.over = over
    this.#takesTrailers = takesTrailers
  }

  get isGone(): boolean {
    return this.out.closed || this.out.destroyed
  }

  head(head: NodeHead, { length }: Framing): void {
    const mayTrail = this.#takesTrailers && length === undefined
    if (mayTrail) this.out.once('wantTrailers', () => this.out.sendTrailers(Object.fromEntries(joined(this.#trailers))))
    this.#respond(head, length, mayTrail ? { waitForTrailers: true } : {})
  }

  showHead(): void {
    // It is a frame of its own, and waits for nothing.
  }

  bodiless(head: NodeHead, { length }: Framing): void {
    this.#respond(head, length, { endStream: true })
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

  #respond({ status, fields }: NodeHead, length: number | undefined, options: Parameters<RawRespond>[1]): void {
    if (this.isGone) return
    const written = [':status', String(status), ...fields]
    if (length !== undefined) written.push('content-length', String(length))
    const respond = this.out.respond.bind(this.out) as unknown as RawRespond
    try {
      respond(written, options)
    } catch (error) {
      if (codeOf(error) !== 'ERR_HTTP2_HEADER_SINGLE_VALUE') throw error
      respond(withoutRepeated(written), options)
    }
  }
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
