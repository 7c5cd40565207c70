import { randomFillSync } from 'node:crypto'
import type { ModuleCache } from '@svc/compile/caches'
import { messageOf, TransientMap, withDeadline } from '@svc/core'
import { cutLine, type EmittedError, type GuestSettings, type HostCallbacks, type InspectRequest } from '@svc/guest'
import type { LoadedModule } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import {
  type LossReason,
  loadLimitMs,
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
import { HostOperations } from './host-operations.ts'
import { ModuleLoader } from './module-loader.ts'
import type { PreparedIsolate } from './prepared-isolate.ts'
import { loadRoute, routeById, routeIdOf } from './route-files.ts'
import { mapStack } from './stack-mapper.ts'
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
  readonly #options: SessionOptions
  readonly #isolate: GuestIsolate
  readonly #loader: ModuleLoader
  readonly #timers: GuestTimers
  readonly #operations: HostOperations
  readonly #fetch: LazySiteFetch
  readonly #requests = new TransientMap<number, ActiveRequest>()
  /** Routes that are defined, with all their modules. */
  readonly #ready = new Set<string>()
  /** Modules of images that could not be loaded. */
  readonly #skippedFiles = new Set<string>()
  #manifest: SiteManifest
  #timeoutsInARow = 0
  #isLost = false

  private constructor(options: SessionOptions, isolate: GuestIsolate) {
    const { link, settings, compiler, cache, data } = options
    this.link = link
    this.#options = options
    this.#isolate = isolate
    this.#manifest = settings.manifest
    this.#timers = new GuestTimers((timerIds) => void isolate.enter('fire', ...timerIds))
    this.#fetch = new LazySiteFetch({ rules: settings.rules, loopMark: settings.loopMark })
    this.#operations = new HostOperations({
      isolate,
      fetch: this.#fetch,
      data,
      requests: this.#requests,
      onRefreshFailed: (what, error) => link.log('warn', '', `failed to refresh ${what}: ${messageOf(error)}`),
    })
    this.#loader = new ModuleLoader({
      compiler,
      cache,
      isolate,
      memoryLimitMb: settings.memoryLimitMb,
      onWarning: (text) => link.log('warn', '', cutLine(text)),
      onEvict: () => this.#ready.clear(),
    })
  }

  /** @throws RENDER_GUEST */
  static async create(options: SessionOptions): Promise<SiteSession> {
    const { link } = options
    let session: SiteSession | undefined
    const isolate = await options.prepared.take({
      callbacks: callbacksFor(() => session),
      events: {
        backgroundError: (message) => session?.backgroundError(message),
        lost: (reason) => session?.lose(reason),
        catastrophe: () => link.post({ t: 'stuck', reason: 'memory' }),
        snapshotFailed: (error) =>
          link.log('warn', '', `the guest snapshot is unusable, isolates start without it: ${String(error)}`),
      },
    })
    session = new SiteSession(options, isolate)
    await isolate.enter('configure', JSON.stringify(options.guestSettings))
    return session
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
    request.deadline = setTimeout(() => request.fail(this.loadError(request, timeoutError(limitMs))), limitMs)
    try {
      if (task.kind === 'inspect') await this.#loadInspected(task)
      // Asked again after each wait: routes may have been forgotten meanwhile. Nothing comes between the answer and the begin.
      else for (let defining = this.#define(task); defining !== undefined; defining = this.#define(task)) await defining
    } catch (error) {
      if (!request.hasEnded) request.fail(this.loadError(request, error))
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

  /** Takes in that files have changed. Returns the modules that were evicted. */
  async update(manifest: SiteManifest, files: readonly string[]): Promise<ReadonlySet<string>> {
    const evicted = await this.#loader.update(files)
    const isOther = manifest.version !== this.#manifest.version
    this.#manifest = manifest
    if (this.#skippedFiles.size > 0) {
      // No module stands for them whose eviction would show that they can be loaded now.
      this.#skippedFiles.clear()
      this.#ready.clear()
    }
    if (isOther) {
      // Before it is entered: a request that looks from now on defines its route again, and that comes after this in the isolate.
      this.#ready.clear()
      await this.#isolate.enter('forgetRoutes')
    }
    return evicted
  }

  /** Forgets modules, with everything that imports them. Returns how many there were. */
  async evict(isMeant: (id: string) => boolean): Promise<number> {
    return (await this.#loader.evict(isMeant)).size
  }

  /** True if a file is a module that this isolate has loaded. */
  hasModule(id: string): boolean {
    return this.#loader.graph.has(id)
  }

  /** Lists the compiled modules in the isolate. */
  modules(): LoadedModule[] {
    return this.#loader.graph.list()
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

  backgroundError(message: string): void {
    this.link.log('error', '', this.#mapped(cutLine(message)))
  }

  headSent(request: ActiveRequest): void {
    this.#clearDeadline(request)
  }

  ended(request: ActiveRequest, isAnswered: boolean): void {
    if (isAnswered) this.#timeoutsInARow = 0
    this.#clearDeadline(request)
    this.#requests.delete(request.task.number)
    this.#operations.ended(request.task)
  }

  siteError(request: ActiveRequest, error: EmittedError, isHandled: boolean): RenderError {
    const stack = this.#mapped(error.stack)
    const title = `${error.name}: ${error.message}`
    const where = error.where === undefined ? '' : ` [${error.where}]`
    const digest = error.digest === undefined ? '' : ` (digest ${error.digest})`
    this.link.log('error', request.task.requestId, `${stack === '' ? title : stack}${where}${digest}`)
    const data = { ...error, stack, isHandled }
    return new RenderError('RENDER_FAILED', title, { data })
  }

  #mapped(stack: string): string {
    return mapStack(stack, (id) => this.#loader.graph.get(id)?.maps)
  }

  /** Logs why a request's modules could not be loaded. */
  loadError(request: ActiveRequest, thrown: unknown): Error {
    const error = thrown instanceof Error ? thrown : new RenderError('RENDER_FAILED', String(thrown))
    this.link.log('error', request.task.requestId, error.message)
    return error
  }

  emitted(number: number, ...rest: Parameters<ActiveRequest['emit']>): void {
    this.#requests.get(number)?.emit(...rest)
  }

  call(...args: Parameters<HostCallbacks['call']>): void {
    if (!this.#isLost) this.#operations.call(...args)
  }

  setTimer(...args: Parameters<HostCallbacks['setTimer']>): void {
    if (!this.#isLost) this.#timers.set(...args)
  }

  clearTimer(timerId: number): void {
    this.#timers.clear(timerId)
  }

  log(level: string, number: number, text: string): void {
    const shown = cutLine(text)
    const mapped = shown.includes('\n    at ') ? this.#mapped(shown) : shown
    this.link.log(level, this.#requests.get(number)?.task.requestId ?? '', mapped)
  }

  #loadInspected(task: RenderTask): Promise<void> {
    return this.#loader.load((JSON.parse(task.begin) as InspectRequest).modules)
  }

  /** Defines the route of a request. undefined: it is, which is so for all but the first request of a route. */
  #define(task: RenderTask): Promise<void> | undefined {
    const id = routeIdOf(task.kind, task.route)
    return this.#ready.has(id) ? undefined : this.#defineRoute(id)
  }

  async #defineRoute(id: string): Promise<void> {
    const manifest = this.#manifest
    const route = routeById(manifest, id)
    let evictions: number
    do {
      evictions = this.#loader.evictions
      await loadRoute({ loader: this.#loader, route, manifest, onSkipped: (file, error) => this.#skipped(file, error) })
    } while (evictions !== this.#loader.evictions)
    await this.#isolate.enter('defineRoute', JSON.stringify(route))
    // It may have changed meanwhile, and this definition may have replaced a newer one.
    if (manifest === this.#manifest && evictions === this.#loader.evictions) this.#ready.add(id)
    else this.#ready.delete(id)
  }

  /** Logs once, until files change, that a page is rendered without the module of an image. */
  #skipped(file: string, error: unknown): void {
    if (this.#skippedFiles.has(file)) return
    this.#skippedFiles.add(file)
    this.link.log('error', '', `${messageOf(error)}; pages go on without the tags of ${file}`)
  }

  #begin(request: ActiveRequest): void {
    const { number, kind, route, begin, body, hasBodyPieces } = request.task
    const id = kind === 'inspect' ? '' : routeIdOf(kind, route)
    clearTimeout(request.deadline)
    request.deadline = setTimeout(() => this.#tooLate(request), this.#options.settings.timeoutMs)
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

  #clearDeadline(request: ActiveRequest): void {
    clearTimeout(request.deadline)
    request.deadline = undefined
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

const MAX_RANDOM_BYTES = 65_536

/** The isolate is made before the session that owns it. */
function callbacksFor(session: () => SiteSession | undefined): HostCallbacks {
  return {
    emit: (number, kind, a, b) => session()?.emitted(number, kind, a, b),
    call: (callId, operation, json, bytes) => session()?.call(callId, operation, json, bytes),
    setTimer: (timerId, delayMs, requestNumber) => session()?.setTimer(timerId, delayMs, requestNumber),
    clearTimer: (timerId) => session()?.clearTimer(timerId),
    log: (level, number, text) => session()?.log(level, number, text),
    randomBytes: (count) => {
      const bytes = new ArrayBuffer(Math.min(count, MAX_RANDOM_BYTES))
      randomFillSync(new Uint8Array(bytes))
      return bytes
    },
  }
}
