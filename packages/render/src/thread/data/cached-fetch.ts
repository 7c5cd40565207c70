import type { DataQuestion } from '../../contract/data-methods.ts'
import type { FetchClient } from '../egress/lazy-site-fetch.ts'
import type { SiteFetchSink, SiteRequest, SiteResponseHead } from '../egress/site-fetch.ts'
import type { DataClient } from './data-client.ts'
import { type FetchWish, FillCopy, fetchKeyParts, isStorableRequest, storedResponse, ttlOf } from './stored-response.ts'

/** Parts of a cached fetch. */
interface CachedFetchOptions {
  readonly fetch: FetchClient
  readonly data: DataClient
  /** The refresh of a stale response failed; the stale response is still served. */
  readonly onRefreshFailed: (url: string, error: unknown) => void
}

/** One fetch of a site that may be answered from the data cache. */
interface CachedRequest {
  readonly site: SiteRequest
  readonly wish: FetchWish
  /** About the request that it is made for. */
  readonly facts: Pick<DataQuestion, 'place' | 'cameBack'>
}

/** Takes the answer, as the sink of a fetch does. */
interface CachedSink extends SiteFetchSink {
  /** `tags`: those of the entry, when it came from the cache. */
  head(head: SiteResponseHead & { readonly tags?: readonly string[] }): void
}

type Question = Omit<DataQuestion, 'mode'>

const noSink: CachedSink = { head: () => undefined, piece: async () => undefined }

/**
 * The site's `fetch` through the data cache. Everything happens outside of the isolate: the store gets the bytes of the
 * network, whatever the code of the site does to them.
 */
export class CachedFetch {
  readonly #options: CachedFetchOptions
  /** Ends the background work with the isolate. */
  readonly #life = new AbortController()

  constructor(options: CachedFetchOptions) {
    this.#options = options
  }

  /**
   * Answers from the cache, or from the network with a copy for the cache.
   * @throws what `SiteFetch.run` throws
   */
  async run(request: CachedRequest, sink: CachedSink, signal: AbortSignal): Promise<void> {
    const { fetch, data } = this.#options
    const { site, wish, facts } = request
    if (!isStorableRequest(site, wish)) {
      await fetch.run(site, sink, signal)
      return
    }
    const question: Question = { parts: fetchKeyParts(site), tags: [...wish.tags], ttlMs: ttlOf(wish.revalidate), ...facts }
    const found = await data.read({ ...question, mode: 'read' })
    if (signal.aborted && found.kind !== 'fill') throw signal.reason
    if (found.kind === 'hit' && (await deliver(found.body, found.tags, sink))) {
      if (found.isStale) void this.#refresh(request, question)
    } else if (found.kind === 'fill') await this.#fill(found.fill, request, question, sink, signal)
    else await fetch.run(site, sink, signal)
  }

  /** Ends what goes on in the background. */
  close(): void {
    this.#life.abort()
  }

  /** Refreshes a stale entry in the background. Never rejects: the entry is still served, and the refresh is retried later. */
  async #refresh(request: CachedRequest, question: Question): Promise<void> {
    const found = await this.#options.data.read({ ...question, mode: 'refresh' })
    if (found.kind !== 'fill') return
    try {
      await this.#fill(found.fill, request, undefined, noSink, this.#life.signal)
    } catch (error) {
      if (!this.#life.signal.aborted) this.#options.onRefreshFailed(request.site.url, error)
    }
  }

  /** @param question to look the previous entry up again when the network fails; undefined: there is no previous entry */
  async #fill(
    fill: number,
    { site, wish }: CachedRequest,
    question: Question | undefined,
    sink: CachedSink,
    signal: AbortSignal,
  ): Promise<void> {
    const { fetch, data } = this.#options
    const copy = new FillCopy(fill, wish, data)
    const out = new FallbackSink(sink, async () => question !== undefined && (await this.#fallBack(question, sink)))
    try {
      await fetch.run(
        site,
        {
          head(head) {
            copy.head(head)
            out.head(head)
          },
          piece(piece) {
            copy.piece(piece)
            return out.piece(piece)
          },
        },
        signal,
      )
      await out.end()
    } catch (error) {
      copy.failed(signal.aborted)
      if (signal.aborted || !(await out.replace())) throw error
      return
    }
    await copy.store()
  }

  /** Hands over what there was, at any age. False: nothing. */
  async #fallBack(question: Question, sink: CachedSink): Promise<boolean> {
    const found = await this.#options.data.read({ ...question, mode: 'fallback' })
    return found.kind === 'hit' && (await deliver(found.body, found.tags, sink))
  }
}

async function deliver(stored: Uint8Array, tags: readonly string[], sink: CachedSink): Promise<boolean> {
  const response = storedResponse(stored)
  if (response === undefined) return false
  sink.head({ ...response.head, tags })
  if (response.body.byteLength > 0) await sink.piece(response.body)
  return true
}

/** Holds an answer of status 5xx back until it is known whether there is something better. */
class FallbackSink {
  readonly #sink: CachedSink
  readonly #fallBack: () => Promise<boolean>
  #held: Promise<void> | undefined
  #isReplaced = false
  /** True if the client has a head. */
  hasHead = false

  constructor(sink: CachedSink, fallBack: () => Promise<boolean>) {
    this.#sink = sink
    this.#fallBack = fallBack
  }

  head(head: SiteResponseHead): void {
    if (head.status >= 500) this.#held = this.#hold(head)
    else this.#send(head)
  }

  async piece(piece: Uint8Array): Promise<void> {
    await this.#held
    if (!this.#isReplaced) await this.#sink.piece(piece)
  }

  async end(): Promise<void> {
    await this.#held
  }

  /** The upstream did not respond. False: there is no entry to serve instead. */
  async replace(): Promise<boolean> {
    await this.#held
    if (this.hasHead) return this.#isReplaced
    this.#isReplaced = await this.#fallBack()
    this.hasHead ||= this.#isReplaced
    return this.#isReplaced
  }

  async #hold(head: SiteResponseHead): Promise<void> {
    this.#isReplaced = await this.#fallBack()
    if (this.#isReplaced) this.hasHead = true
    else this.#send(head)
  }

  #send(head: SiteResponseHead): void {
    this.hasHead = true
    this.#sink.head(head)
  }
}
