import { randomFillSync } from 'node:crypto'
import type { ModuleCache } from '@svc/compile/caches'
import { messageOf, TransientMap, withDeadline } from '@svc/core'
import { cutLine, type EmittedError, type GuestSettings, type HostCallbacks } from '@svc/guest'
import {
  type LossReason,
  loadLimitMs,
  noOrigin,
  type RenderResult,
  type RenderTask,
  type ThreadSettings,
} from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { ActiveRequest, type RequestOwner } from './active-request.ts'
import type { CompileClient } from './compile-client.ts'
import type { DataClient } from './data/data-client.ts'
import { LazySiteFetch } from './egress/lazy-site-fetch.ts'
import type { GuestIsolate } from './guest-isolate.ts'
import { GuestTimers } from './guest-timers.ts'
import type { SnapshotTarget } from './heap-snapshot.ts'
import { HostOperations } from './host-operations.ts'
import type { PreparedIsolate } from './prepared-isolate.ts'
import { routeIdOf } from './route-files.ts'
import { SiteModules } from './site-modules.ts'
import type { ThreadLink } from './thread-link.ts'

/**
 * Longest time that an isolate may take to answer when a request in it is aborted: more than the requests before it take on a busy
 * machine. Code that runs in circles is ended by its own time limit in any case.
 */
const YIELD_TIMEOUT_MS = 5_000
/**
 * So many requests in a row that got no answer in time, with none between that did, end the isolate: it may be its state that
 * keeps them waiting, which code of the site can spoil for good.
 */
const MAX_TIMEOUTS_IN_A_ROW = 3
const MAX_RANDOM_BYTES = 65_536

/** Options of a `SiteSession`. */
interface SessionOptions {
  readonly settings: ThreadSettings
  readonly guestSettings: GuestSettings
  readonly prepared: PreparedIsolate
  readonly compiler: CompileClient
  readonly cache: ModuleCache
  readonly link: ThreadLink
  readonly data: DataClient
  /** Called once when the isolate is lost: the next request needs a new session. */
  readonly onLost: () => void
}

/** One isolate with everything that hangs on it: modules, requests, timers, fetches. */
export class SiteSession implements RequestOwner {
  readonly link: ThreadLink
  readonly modules: SiteModules
  readonly #options: SessionOptions
  readonly #isolate: GuestIsolate
  readonly #timers: GuestTimers
  readonly #operations: HostOperations
  readonly #fetch: LazySiteFetch
  readonly #requests = new TransientMap<number, ActiveRequest>()
  #timeoutsInARow = 0
  #isLost = false

  private constructor(options: SessionOptions, isolate: GuestIsolate) {
    const { link, settings, compiler, cache, data } = options
    this.link = link
    this.#options = options
    this.#isolate = isolate
    this.#timers = new GuestTimers((timerIds) => void isolate.enter('fire', ...timerIds))
    this.#fetch = new LazySiteFetch({ rules: settings.rules, loopMark: settings.loopMark })
    this.#operations = new HostOperations({
      isolate,
      fetch: this.#fetch,
      data,
      requests: this.#requests,
      onRefreshFailed: (what, error) => link.log('warn', noOrigin, `failed to refresh ${what}: ${messageOf(error)}`),
    })
    this.modules = new SiteModules({ settings, isolate, compiler, cache, link })
  }

  /** @throws RENDER_GUEST */
  static async create(options: SessionOptions): Promise<SiteSession> {
    const { link } = options
    // The isolate is made before the session that owns it.
    let session: SiteSession | undefined
    const isolate = await options.prepared.take({
      get callbacks() {
        return session === undefined ? undefined : session.#callbacks
      },
      events: {
        backgroundError: (message) => link.log('error', noOrigin, session?.modules.mapped(cutLine(message)) ?? cutLine(message)),
        lost: (reason) => session?.lose(reason),
        catastrophe: () => link.post({ t: 'stuck', reason: 'memory' }),
        snapshotFailed: (error) =>
          link.log('warn', noOrigin, `the guest snapshot is unusable, isolates start without it: ${String(error)}`),
      },
    })
    session = new SiteSession(options, isolate)
    await isolate.enter('configure', JSON.stringify(options.guestSettings))
    return session
  }

  readonly #callbacks: HostCallbacks = {
    emit: (number, kind, a, b) => this.#requests.get(number)?.emit(kind, a, b),
    call: (...args) => {
      if (!this.#isLost) this.#operations.call(...args)
    },
    setTimer: (...args) => {
      if (!this.#isLost) this.#timers.set(...args)
    },
    clearTimer: (timerId) => this.#timers.clear(timerId),
    log: (level, number, text) => {
      const shown = cutLine(text)
      const mapped = shown.includes('\n    at ') ? this.modules.mapped(shown) : shown
      this.link.log(level, this.#requests.get(number)?.task ?? noOrigin, mapped)
    },
    randomBytes: (count) => {
      const bytes = new ArrayBuffer(Math.min(count, MAX_RANDOM_BYTES))
      randomFillSync(new Uint8Array(bytes))
      return bytes
    },
  }

  /** Memory that its isolate uses, in bytes. Rejects if the isolate is gone. */
  heapBytes(): Promise<number> {
    return this.#isolate.heapBytes()
  }

  /** Writes the heap of its isolate into a file. Resolves with the bytes of the file. @throws RENDER_SNAPSHOT */
  heapSnapshot(target: SnapshotTarget): Promise<number> {
    return this.#isolate.heapSnapshot(target)
  }

  /** Runs a request in the isolate. Never rejects. */
  run(task: RenderTask): Promise<RenderResult> {
    const request = new ActiveRequest(task, this)
    this.#requests.set(task.number, request)
    void this.#start(request)
    return request.result
  }

  /** Begins a request as soon as its modules are loaded, unless it has ended until then. Never rejects. */
  async #start(request: ActiveRequest): Promise<void> {
    const { task } = request
    const limitMs = loadLimitMs(this.#options.settings.timeoutMs)
    // The load goes on for the requests after this one.
    request.limit(limitMs, () => request.fail(this.#loadError(request, timeoutError(limitMs))))
    try {
      if (task.kind === 'inspect') await this.modules.loadInspected(task)
      // Asked again after each wait: routes may have been forgotten meanwhile. Nothing comes between the answer and the begin.
      else for (let wait = this.modules.define(task); wait !== undefined; wait = this.modules.define(task)) await wait
    } catch (error) {
      if (!request.hasEnded) request.fail(this.#loadError(request, error))
    }
    if (this.#isLost) request.giveBack()
    if (!request.hasEnded) this.#begin(request)
  }

  /** Aborts a request whose client has disconnected. */
  abort(number: number): void {
    const request = this.#requests.get(number)
    if (request === undefined) return
    request.drop()
    this.#giveUp(request)
  }

  /** Passes a piece of a request's body on; undefined: it is complete. */
  body(number: number, bytes: Uint8Array | undefined): void {
    if (!this.#requests.has(number)) return
    if (bytes === undefined) void this.#isolate.enter('bodyChunk', number, undefined)
    else this.#bodyPiece(number, bytes)
  }

  hold(number: number): void {
    void this.#isolate.enter('hold', number)
  }

  resume(number: number): void {
    void this.#isolate.enter('resume', number)
  }

  /** Ends the isolate; requests in it fail. */
  async close(): Promise<void> {
    await this.#end('crash')
  }

  /** Called when the isolate is gone or must go. */
  lose(reason: LossReason): void {
    if (this.#isLost) return
    this.#options.onLost()
    this.link.post({ t: 'lost', reason })
    void this.#end(reason)
  }

  ended(request: ActiveRequest, isAnswered: boolean): void {
    if (isAnswered) this.#timeoutsInARow = 0
    this.#requests.delete(request.task.number)
    this.#operations.ended(request.task)
  }

  siteError(request: ActiveRequest, error: EmittedError, isHandled: boolean): RenderError {
    const stack = this.modules.mapped(error.stack)
    const title = `${error.name}: ${error.message}`
    const where = error.where === undefined ? '' : ` [${error.where}]`
    const digest = error.digest === undefined ? '' : ` (digest ${error.digest})`
    this.link.log('error', request.task, `${stack === '' ? title : stack}${where}${digest}`)
    const data = { ...error, stack, isHandled }
    return new RenderError('RENDER_FAILED', title, { data })
  }

  /** Logs why a request's modules could not be loaded. */
  #loadError(request: ActiveRequest, thrown: unknown): Error {
    const error = thrown instanceof Error ? thrown : new RenderError('RENDER_FAILED', String(thrown))
    this.link.log('error', request.task, error.message)
    return error
  }

  #begin(request: ActiveRequest): void {
    const { number, kind, route, begin, body, hasBodyPieces } = request.task
    const id = kind === 'inspect' ? '' : routeIdOf(kind, route)
    request.limit(this.#options.settings.timeoutMs, () => this.#tooLate(request))
    request.entry = this.#isolate.enter('begin', number, kind, id, begin)
    if (body !== undefined) this.#bodyPiece(number, body)
    if (hasBodyPieces) this.link.post({ t: 'wantBody', number })
    else if (body !== undefined) void this.#isolate.enter('bodyChunk', number, undefined)
  }

  #bodyPiece(number: number, bytes: Uint8Array): void {
    const byteCount = bytes.byteLength
    const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + byteCount) as ArrayBuffer
    void this.#isolate.enter('bodyChunk', number, copy).then(() => this.link.post({ t: 'bodyTaken', number, byteCount }))
  }

  #tooLate(request: ActiveRequest): void {
    request.fail(timeoutError(this.#options.settings.timeoutMs))
    if (++this.#timeoutsInARow < MAX_TIMEOUTS_IN_A_ROW) this.#giveUp(request)
    else this.lose('timeout')
  }

  /** Tells the guest to stop; one that does not even take that in is running in circles. */
  #giveUp(request: ActiveRequest): void {
    const { number } = request.task
    this.#operations.abortOf(number)
    withDeadline(this.#isolate.enter('abort', number), YIELD_TIMEOUT_MS, 'abort of a render').catch(() => this.lose('timeout'))
  }

  /** A body that comes in pieces has been asked for: it cannot be had again. */
  #isUntouched({ task, entry }: ActiveRequest): boolean {
    if (task.hasBodyPieces) return false
    return entry === undefined || this.#isolate.isWaiting(entry)
  }

  async #end(reason: LossReason): Promise<void> {
    if (this.#isLost) return
    this.#isLost = true
    this.#timers.clearAll()
    this.#operations.abortAll()
    const { timeoutMs } = this.#options.settings
    for (const request of this.#requests.values()) {
      if (this.#isUntouched(request)) {
        request.giveBack()
        continue
      }
      // A request that waited the whole time is not the victim of another one.
      const isCulprit = reason === 'timeout' && performance.now() - request.startedAt > timeoutMs * 0.9
      request.fail(isCulprit ? timeoutError(timeoutMs) : lossError(reason))
    }
    const [hasStopped] = await Promise.all([this.#isolate.dispose(), this.#fetch.close()])
    if (!hasStopped) this.link.post({ t: 'stuck', reason })
  }
}

function timeoutError(timeoutMs: number): RenderError {
  return new RenderError('RENDER_TIMEOUT', { timeoutMs })
}

function lossError(reason: LossReason): RenderError {
  if (reason === 'memory') return new RenderError('RENDER_MEMORY', 'the isolate exceeded its memory limit')
  return new RenderError('RENDER_ISOLATE_LOST', 'the isolate was stopped')
}
