import { hash } from 'node:crypto'
import type { SiteRequest, SiteResponseHead } from '../egress/site-fetch.ts'

/** A larger body is not stored. */
const MAX_BODY_BYTES = 2 * 1024 * 1024 - 64 * 1024

/** Fields of the connection, and those that are for one client alone. */
const notKept = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Fields that differ with every request that is answered, without a meaning to the one who answers. */
const notInKey = new Set(['traceparent', 'tracestate'])
const LINE_END = 10

/** Options of the data cache for one fetch, as site code gave them. */
export interface FetchWish {
  /** Seconds; false: for ever. */
  readonly revalidate: number | false
  readonly tags: readonly string[]
  /** True if the code said so itself, by `next.revalidate`: only then are responses stored that may be one visitor's. */
  readonly isExplicit: boolean
}

/** Parts of the key of a fetch: method, whole URL, all request fields, hash of the body. */
export function fetchKeyParts({ method, url, headers, body }: SiteRequest): string[] {
  const fields = headers.map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const kept = fields.filter(([name]) => !notInKey.has(name)).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return ['fetch', method, url, JSON.stringify(kept), body === undefined ? '' : hash('sha256', body, 'hex')]
}

/** True if the response to a request may be stored at all. */
export function isStorableRequest(
  { headers, redirect }: Pick<SiteRequest, 'headers' | 'redirect'>,
  { isExplicit }: FetchWish,
): boolean {
  // How redirects are treated is not part of the key.
  if (redirect !== 'follow') return false
  return isExplicit || !headers.some(([name]) => /^(?:authorization|cookie)$/i.test(name))
}

/** Copies a response while it is handed on. */
export class ResponseCopy {
  readonly #wish: FetchWish
  #head: SiteResponseHead | undefined
  #pieces: Uint8Array[] = []
  #byteCount = 0

  constructor(wish: FetchWish) {
    this.#wish = wish
  }

  /** Takes the head. False: the response is not stored. */
  start(head: SiteResponseHead): boolean {
    const { status, headers } = head
    const isPersonal = !this.#wish.isExplicit && headers.some(([name]) => name === 'set-cookie')
    // A part of something (206) is no answer to another request.
    if (status < 200 || status > 299 || status === 206 || isPersonal) return false
    this.#head = { ...head, headers: headers.filter(([name]) => !notKept.has(name)) }
    return true
  }

  /** Takes a piece. False: it has become too large, and nothing is kept. */
  add(piece: Uint8Array): boolean {
    if (this.#head === undefined) return false
    this.#byteCount += piece.byteLength
    if (this.#byteCount > MAX_BODY_BYTES) {
      this.#head = undefined
      this.#pieces = []
      return false
    }
    this.#pieces.push(piece)
    return true
  }

  /** The whole as it is stored: the head as a line of JSON, then the body. Undefined: it is not stored. */
  finish(): Uint8Array | undefined {
    if (this.#head === undefined) return undefined
    return Buffer.concat([Buffer.from(`${JSON.stringify(this.#head)}\n`), ...this.#pieces])
  }
}

/** Takes a stored response apart. Undefined: it is none. */
export function storedResponse(stored: Uint8Array): { readonly head: SiteResponseHead; readonly body: Uint8Array } | undefined {
  const end = stored.indexOf(LINE_END)
  try {
    const head = JSON.parse(Buffer.from(stored.buffer, stored.byteOffset, Math.max(0, end)).toString()) as SiteResponseHead
    return typeof head.status === 'number' ? { head, body: stored.subarray(end + 1) } : undefined
  } catch {
    // Written by another version: a miss.
    return undefined
  }
}
