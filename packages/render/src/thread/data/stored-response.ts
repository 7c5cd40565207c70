import { hash } from 'node:crypto'
import type { SiteRequest, SiteResponseHead } from '../egress/site-fetch.ts'
import type { DataClient } from './data-client.ts'

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

/** Milliseconds for which an entry is fresh; null: for ever. */
export const ttlOf = (revalidate: number | false): number | null => (revalidate === false ? null : revalidate * 1000)

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

/** The copy of a response for the cache, made while the response is handed on, and the fill that it is made for. */
export class FillCopy {
  readonly #fill: number
  readonly #wish: FetchWish
  readonly #data: DataClient
  #head: SiteResponseHead | undefined
  #pieces: Uint8Array[] = []
  #byteCount = 0
  #isOpen = true

  constructor(fill: number, wish: FetchWish, data: DataClient) {
    this.#fill = fill
    this.#wish = wish
    this.#data = data
  }

  head(head: SiteResponseHead): void {
    const { status, headers } = head
    const isPersonal = !this.#wish.isExplicit && headers.some(([name]) => name === 'set-cookie')
    // A part of a response (206) does not fit another request.
    if (status < 200 || status > 299 || status === 206 || isPersonal) this.#end(status >= 500 ? 'failed' : 'pass')
    else this.#head = { ...head, headers: headers.filter(([name]) => !notKept.has(name)) }
  }

  piece(piece: Uint8Array): void {
    if (!this.#isOpen) return
    this.#byteCount += piece.byteLength
    if (this.#byteCount <= MAX_BODY_BYTES) this.#pieces.push(piece)
    else this.#end('pass')
  }

  failed(isAborted: boolean): void {
    this.#end(isAborted ? 'lost' : 'failed')
  }

  /** Stores the whole: the head as a line of JSON, then the body. */
  async store(): Promise<void> {
    const head = this.#head
    if (!this.#isOpen || head === undefined) {
      this.#end('pass')
      return
    }
    this.#isOpen = false
    const { revalidate, tags } = this.#wish
    const body = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...this.#pieces])
    await this.#data.store(this.#fill, { tags, ttlMs: ttlOf(revalidate), body })
  }

  #end(outcome: 'pass' | 'failed' | 'lost'): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#pieces = []
    this.#data.endFill(this.#fill, outcome)
  }
}

/** Splits a stored entry into head and body. Undefined: it is not a response. */
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
