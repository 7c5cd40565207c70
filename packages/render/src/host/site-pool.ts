import type { MessagePort } from 'node:worker_threads'
import type { SiteManifest } from '@svc/site'
import type { LossReason, ThreadSettings } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import type { SpareThread } from './spare-thread.ts'
import type { BudgetMember, ThreadBudget } from './thread-budget.ts'
import { type ThreadJob, ThreadSlot } from './thread-slot.ts'

/** Limits of one site's pool. */
export interface PoolLimits {
  readonly maxThreads: number
  /** Requests in flight in one thread. */
  readonly concurrency: number
  readonly queueMax: number
  /** Time without work after which a thread is closed, in milliseconds. */
  readonly idleMs: number
}

/** A job that may have to wait. */
export interface PoolJob extends ThreadJob {
  /** It has been given to a thread. */
  started(slot: ThreadSlot): void
}

/** Events of a pool, for its host. */
export interface PoolEvents {
  lost(reason: LossReason): void
  stuck(reason: LossReason): void
  died(error: Error): void
  log(level: string, requestId: string, text: string): void
  /** A thread of the pool calls its host on this port. */
  serve(port: MessagePort): void
}

/** Options of a `SitePool`. */
export interface PoolOptions {
  /** Source of its threads. */
  readonly threads: Pick<SpareThread, 'take'>
  /** Of each thread; the manifest is the one of `setManifest`. */
  readonly settings: Omit<ThreadSettings, 'manifest'>
  readonly manifest: SiteManifest
  readonly limits: PoolLimits
  readonly budget: ThreadBudget
  readonly events: PoolEvents
  /** It is to take the place of another pool: until then its first thread may be one more than the budget allows. */
  readonly isReplacing?: boolean
}

/** Requests in flight in each thread from which another thread is worth its memory. */
const BUSY_ABOVE = 4
/** Threads that die this often in a row without a single answer are not started again for the requests that wait. */
const MAX_FAILED_STARTS = 3

/** The render threads of one site. None runs before the first request, and none after a time without one. */
export class SitePool implements BudgetMember {
  readonly #options: PoolOptions
  readonly #slots = new Set<ThreadSlot>()
  readonly #closing = new Set<Promise<void>>()
  #queue: PoolJob[] = []
  #manifest: SiteManifest
  #isReplacing: boolean
  #isClosed = false
  #failedStarts = 0
  #drained: PromiseWithResolvers<void> | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#manifest = options.manifest
    this.#isReplacing = options.isReplacing === true
    options.budget.add(this)
  }

  get mayExceed(): boolean {
    return this.#isReplacing && this.#slots.size === 0
  }

  get threadCount(): number {
    return this.#slots.size
  }

  get activeThreads(): number {
    let count = 0
    for (const slot of this.#slots) if (slot.active > 0) count++
    return count
  }

  /** Requests in threads. */
  get active(): number {
    let count = 0
    for (const slot of this.#slots) count += slot.active
    return count
  }

  /** Of each isolate: how long it took until it was ready, in milliseconds. */
  get lastBuildMs(): number[] {
    return [...this.#slots].map((slot) => slot.lastBuildMs)
  }

  /** Begins to serve in the place of another pool. How long its isolates took so far is forgotten. */
  takeOver(): void {
    this.#isReplacing = false
    for (const slot of this.#slots) slot.lastBuildMs = 0
  }

  get queued(): number {
    return this.#queue.length
  }

  get longestIdleMs(): number | undefined {
    const slot = this.#longestIdle()
    return slot === undefined ? undefined : slot.idleMs
  }

  /**
   * Gives a job to the least busy thread, or lets it wait.
   * @throws RENDER_QUEUE_FULL; RENDER_STALE_MANIFEST when the pool has ended
   */
  run(job: PoolJob): void {
    if (this.#isClosed) throw this.#closed()
    const slot = this.#queue.length === 0 ? this.#freeSlot() : undefined
    if (slot !== undefined) {
      job.started(slot)
      slot.run(job)
    } else if (this.#queue.length >= this.#options.limits.queueMax) {
      throw new RenderError('RENDER_QUEUE_FULL', `${this.#queue.length} renders are waiting for ${this.#options.settings.site}`)
    } else this.#queue.push(job)
    this.#growIfNeeded()
  }

  /** Takes a waiting job out. */
  cancel(job: PoolJob): void {
    this.#queue = this.#queue.filter((waiting) => waiting !== job)
    this.#checkDrained()
  }

  /** Tells every thread that files have changed. Resolves with the modules that have changed. */
  async update(manifest: SiteManifest, files: readonly string[]): Promise<string[]> {
    this.#manifest = manifest
    const tell = (slot: ThreadSlot) => slot.update({ t: 'update', manifest, files }).catch(() => [])
    return (await Promise.all([...this.#slots].map(tell))).flat()
  }

  /** Closes threads that have had nothing to do, and finds threads that do not run any more. */
  sweep(now: number): void {
    for (const slot of this.#slots) {
      if (slot.hasOverdueJob(now)) this.#options.events.stuck('timeout')
      else if (slot.isReady && slot.idleMs > this.#options.limits.idleMs) this.#close(slot)
    }
  }

  closeIdleThread(): void {
    const slot = this.#longestIdle()
    if (slot !== undefined) this.#close(slot)
  }

  roomCame(): void {
    this.#growIfNeeded()
  }

  /** Resolves when no request is left; then all threads are closed. New requests must not come. */
  async drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers<void>()
    this.#checkDrained()
    await this.#drained.promise
    await this.close()
  }

  /** Ends all threads. Requests in them or waiting fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    const waiting = this.#queue
    this.#queue = []
    for (const job of waiting) job.fail(this.#closed())
    for (const slot of this.#slots) this.#close(slot)
    await Promise.all(this.#closing)
    this.#options.budget.remove(this)
  }

  /** The host itself may go on: only the request has to be matched again. */
  #closed(): RenderError {
    return new RenderError(
      'RENDER_STALE_MANIFEST',
      `${this.#options.settings.site} was reloaded meanwhile: match the request again`,
    )
  }

  #freeSlot(): ThreadSlot | undefined {
    let best: ThreadSlot | undefined
    for (const slot of this.#slots) {
      if (slot.isReady && slot.active < (best?.active ?? this.#options.limits.concurrency)) best = slot
    }
    return best
  }

  #longestIdle(): ThreadSlot | undefined {
    let longest: ThreadSlot | undefined
    for (const slot of this.#slots) {
      if (slot.isReady && slot.active === 0 && slot.idleMs >= (longest?.idleMs ?? 0)) longest = slot
    }
    return this.#queue.length > 0 ? undefined : longest
  }

  #growIfNeeded(): void {
    let starting = 0
    for (const slot of this.#slots) if (!slot.isReady) starting++
    const { maxThreads, concurrency } = this.#options.limits
    const { active, queued } = this
    if (!shouldGrow({ threads: this.#slots.size, starting, maxThreads, concurrency, active, queued })) return
    if (this.#options.budget.mayStart(this)) this.#start()
  }

  #start(): void {
    const { threads, settings, limits, events } = this.#options
    const { guestDir, timeoutMs, memoryLimitMb } = settings
    const slot = new ThreadSlot({
      thread: threads.take({ guestDir, timeoutMs, memoryLimitMb }),
      settings: { ...settings, manifest: this.#manifest },
      concurrency: limits.concurrency,
      events: {
        ready: () => {
          this.#failedStarts = 0
          this.#serveQueue()
        },
        released: (freed) => this.#released(freed),
        died: (dead, error) => this.#died(dead, error),
        lost: events.lost,
        stuck: events.stuck,
        log: events.log,
        serve: events.serve,
      },
    })
    this.#slots.add(slot)
  }

  #released(slot: ThreadSlot): void {
    if (this.#queue.length > 0) this.#serveQueue()
    else if (slot.active === 0) this.#options.budget.changed()
    if (this.#drained !== undefined) this.#checkDrained()
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const slot = this.#freeSlot()
      if (slot === undefined) break
      const job = this.#queue.shift()
      if (job === undefined) break
      job.started(slot)
      slot.run(job)
    }
    this.#growIfNeeded()
  }

  #died(slot: ThreadSlot, error: Error): void {
    this.#slots.delete(slot)
    this.#options.events.died(error)
    this.#options.budget.changed()
    if (++this.#failedStarts < MAX_FAILED_STARTS) this.#growIfNeeded()
    else {
      const waiting = this.#queue
      this.#queue = []
      this.#failedStarts = 0
      for (const job of waiting)
        job.fail(new RenderError('RENDER_ISOLATE_LOST', 'failed to start the render thread', { cause: error }))
    }
    this.#checkDrained()
  }

  #close(slot: ThreadSlot): void {
    this.#slots.delete(slot)
    const closed = slot.close().finally(() => {
      this.#closing.delete(closed)
      this.#options.budget.changed()
    })
    this.#closing.add(closed)
  }

  #checkDrained(): void {
    if (this.#drained !== undefined && this.active === 0 && this.#queue.length === 0) this.#drained.resolve()
  }
}

/** Facts for the decision to add a thread. */
interface PoolLoad {
  readonly threads: number
  /** Threads that are starting. */
  readonly starting: number
  readonly maxThreads: number
  /** Requests in flight in one thread at most. */
  readonly concurrency: number
  readonly active: number
  readonly queued: number
}

/** True if a pool should start another thread: one at a time, when those it has are busy or full. */
export function shouldGrow({ threads, starting, maxThreads, concurrency, active, queued }: PoolLoad): boolean {
  if (threads >= maxThreads || starting > 0) return false
  if (threads === 0) return queued > 0
  return queued > 0 || active >= threads * Math.min(BUSY_ABOVE, concurrency)
}
