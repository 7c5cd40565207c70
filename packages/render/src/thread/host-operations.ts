import { asError, codeOf } from '@svc/core'
import type { BeginRequest, EmittedError, HostOperation } from '@svc/guest'
import type { DataQuestion, PathPurge, RoutePlace } from '../contract/data-methods.ts'
import type { RenderTask } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { cryptoOperation } from './crypto-operations.ts'
import { CachedFetch } from './data/cached-fetch.ts'
import type { DataClient } from './data/data-client.ts'
import { DataOperations } from './data/data-operations.ts'
import type { FetchWish } from './data/stored-response.ts'
import type { FetchClient } from './egress/lazy-site-fetch.ts'
import type { HeaderList } from './egress/request-headers.ts'
import type { GuestIsolate } from './guest-isolate.ts'

/** Finished requests that are remembered. */
const MAX_KEPT = 1_024

/**
 * The CDN-Loop fields (RFC 8586) of the requests that ended last: code that they left running still fetches for them. Requests
 * without the field, which are almost all, are not kept.
 */
class KeptLoops {
  readonly #loops = new Map<number, string>()

  /** Keeps the field of a request that has ended; "" is nothing to keep. */
  keep(requestNumber: number, cdnLoop: string): void {
    if (cdnLoop === '') return
    this.#loops.set(requestNumber, cdnLoop)
    if (this.#loops.size <= MAX_KEPT) return
    const [oldest] = this.#loops.keys()
    if (oldest !== undefined) this.#loops.delete(oldest)
  }

  /** The field of a request that has ended; undefined: it is not known. */
  of(requestNumber: number): string | undefined {
    return this.#loops.get(requestNumber)
  }
}

/** Path and pattern of a request in flight. Undefined for one without a URL. */
function placeOf({ begin, route }: Pick<RenderTask, 'begin' | 'route'>): RoutePlace | undefined {
  const { url } = JSON.parse(begin) as Partial<BeginRequest>
  const parsed = url === undefined ? null : URL.parse(url)
  if (parsed === null) return undefined
  // Ids of routes are their kind, a colon and the pattern.
  return { path: parsed.pathname, pattern: route.slice(route.indexOf(':') + 1) }
}

interface FetchFields {
  readonly requestNumber: number
  readonly url: string
  readonly method: string
  readonly headers: HeaderList
  readonly redirect?: 'follow' | 'manual' | 'error'
  readonly cache?: FetchWish
}

interface RunningFetch {
  readonly requestNumber: number
  readonly controller: AbortController
}

/** The requests in flight, by number. */
interface RequestTable {
  get(requestNumber: number): { readonly task: RenderTask } | undefined
  values(): Iterable<{ readonly task: RenderTask }>
}

/** Options of `HostOperations`. */
interface HostOperationsOptions {
  readonly isolate: Pick<GuestIsolate, 'enter'>
  readonly fetch: FetchClient
  readonly data: DataClient
  readonly requests: RequestTable
  /** Reports that stale data could not be refreshed. */
  readonly onRefreshFailed: (what: string, error: unknown) => void
}

const errorNames: Readonly<Partial<Record<HostOperation, string>>> = {
  // Errors that the web platform's `fetch` gives are all TypeErrors; crypto has one name for operations that it cannot do.
  fetch: 'TypeError',
  digest: 'OperationError',
  hmac: 'OperationError',
  'aes-gcm': 'OperationError',
}

function emittedError(error: Error, operation: HostOperation): EmittedError {
  const name = errorNames[operation] ?? 'Error'
  const code = codeOf(error)
  // An error of the host itself keeps its message: the site learns why the call was refused.
  const message = operation === 'purge' && code !== undefined ? `${error.message} (${code})` : error.message
  return { name, message, stack: `${name}: ${message}` }
}

/** A copy that owns its memory, as a transfer into an isolate needs. */
function owned(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
}

/** Runs the operations that a guest requests of its host by `call`. */
export class HostOperations {
  readonly #options: HostOperationsOptions
  readonly #cachedFetch: CachedFetch
  readonly #data: DataOperations
  readonly #running = new Map<number, RunningFetch>()
  readonly #keptLoops = new KeptLoops()

  constructor(options: HostOperationsOptions) {
    const { fetch, data, onRefreshFailed } = options
    this.#options = options
    this.#cachedFetch = new CachedFetch({ fetch, data, onRefreshFailed })
    this.#data = new DataOperations(data)
  }

  /** Starts an operation; its outcome goes to the guest by `settle`. Never throws. */
  call(callId: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): void {
    this.#run(callId, operation, json, bytes).catch((thrown: unknown) => {
      const error = JSON.stringify(emittedError(asError(thrown), operation))
      return this.#options.isolate.enter('settle', callId, false, error, undefined, true)
    })
  }

  /** Notes that a request has ended; operations that its code left running continue. */
  ended({ number, cdnLoop }: RenderTask): void {
    this.#keptLoops.keep(number, cdnLoop)
  }

  /** Aborts the operations of a request that has ended. */
  abortOf(requestNumber: number): void {
    for (const { requestNumber: owner, controller } of this.#running.values()) {
      if (owner === requestNumber) controller.abort(new RenderError('RENDER_FETCH_FAILED', 'the request has ended'))
    }
    this.#data.abortOf(requestNumber)
  }

  /** Aborts all operations. */
  abortAll(): void {
    for (const { controller } of this.#running.values())
      controller.abort(new RenderError('RENDER_FETCH_FAILED', 'the isolate was stopped'))
    this.#cachedFetch.close()
    this.#data.abortAll()
  }

  async #run(callId: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): Promise<void> {
    switch (operation) {
      case 'fetch':
        await this.#runFetch(callId, JSON.parse(json) as FetchFields, bytes)
        break
      case 'fetch-abort': {
        const target = (JSON.parse(json) as { callId: number }).callId
        this.#running.get(target)?.controller.abort(new RenderError('RENDER_FETCH_FAILED', 'aborted'))
        break
      }
      case 'data-read': {
        const { json: answer, body } = await this.#data.read(json, (number) => this.#factsOf(number))
        await this.#settle(callId, answer, body, true)
        break
      }
      case 'data-store':
        await this.#settle(callId, await this.#data.store(json, new Uint8Array(bytes ?? new ArrayBuffer(0))), undefined, true)
        break
      case 'data-end':
        this.#data.end(json)
        break
      case 'purge': {
        const { tags, paths } = JSON.parse(json) as { readonly tags: readonly string[]; readonly paths: readonly PathPurge[] }
        await this.#options.data.purge(tags, paths)
        await this.#settle(callId, '{}', undefined, true)
        break
      }
      case 'digest':
      case 'hmac':
      case 'aes-gcm': {
        const result = cryptoOperation(operation, json, new Uint8Array(bytes ?? new ArrayBuffer(0)))
        await this.#settle(callId, '{}', result, true)
        break
      }
    }
  }

  async #runFetch(callId: number, fields: FetchFields, bytes: ArrayBuffer | undefined): Promise<void> {
    const { requestNumber, url, method, headers, redirect = 'follow', cache: wish } = fields
    const controller = new AbortController()
    this.#running.set(callId, { requestNumber, controller })
    const body = bytes === undefined ? undefined : new Uint8Array(bytes)
    const cdnLoop = this.#loopOf(requestNumber)
    const trace = this.#options.requests.get(requestNumber)?.task.trace
    const site = { url, method, headers, redirect, body, cdnLoop, trace }
    const sink = {
      head: (head: object) => void this.#settle(callId, JSON.stringify(head), undefined, false),
      piece: (piece: Uint8Array) => this.#settle(callId, '{}', piece, false),
    }
    try {
      if (wish === undefined) await this.#options.fetch.run(site, sink, controller.signal)
      else await this.#cachedFetch.run({ site, wish, facts: this.#factsOf(requestNumber) }, sink, controller.signal)
    } catch (error) {
      // It has no caller any more, and its slot would block calls that have one.
      if (controller.signal.aborted) return
      throw error
    } finally {
      this.#running.delete(callId)
    }
    await this.#settle(callId, '{}', undefined, true)
  }

  /**
   * The CDN-Loop of the request that code calls for. Code that has lost its request, or names another one, is taken for the request in
   * flight that was passed on most often: otherwise a site that fetches itself would never be stopped. Only what this instance has
   * sent counts there, because clients write the rest.
   */
  #loopOf(requestNumber: number): string {
    const { fetch, requests } = this.#options
    const known = requests.get(requestNumber)?.task.cdnLoop ?? this.#keptLoops.of(requestNumber)
    if (known !== undefined) return known
    let longest = ''
    for (const { task } of requests.values()) {
      if (task.cdnLoop.length > longest.length && fetch.hasSent(task.cdnLoop)) longest = task.cdnLoop
    }
    return longest
  }

  /** Facts about the request that the data cache needs. */
  #factsOf(requestNumber: number): Pick<DataQuestion, 'place' | 'cameBack'> {
    const task = this.#options.requests.get(requestNumber)?.task
    const place = task === undefined ? undefined : placeOf(task)
    const cameBack = this.#options.fetch.hasSent(this.#loopOf(requestNumber))
    return { ...(place === undefined ? {} : { place }), ...(cameBack ? { cameBack } : {}) }
  }

  #settle(callId: number, json: string, bytes: Uint8Array | undefined, isLast: boolean): Promise<void> {
    const copy = bytes === undefined ? undefined : owned(bytes)
    return this.#options.isolate.enter('settle', callId, true, json, copy, isLast)
  }
}
