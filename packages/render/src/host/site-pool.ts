import type { MessagePort } from 'node:worker_threads'
import type { HostIsolate } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import type { LogOrigin, LossReason, ThreadSettings } from '../contract/thread-messages.ts'
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

/** Threads of a pool, and its requests. */
interface PoolCounts {
  readonly threads: number
  /** Threads that are starting. */
  readonly starting: number
  /** Threads with requests. */
  readonly busy: number
  /** Requests in threads. */
  readonly active: number
  readonly queued: number
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
  log(level: string, origin: LogOrigin, text: string): void
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

  get counts(): PoolCounts {
    const counts = { threads: this.#slots.size, starting: 0, busy: 0, active: 0, queued: this.#queue.length }
    for (const { isReady, active } of this.#slots) {
      if (!isReady) counts.starting++
      if (active > 0) counts.busy++
      counts.active += active
    }
    return counts
  }

  /** Its isolates. Resolves within a bounded time. */
  async isolates(): Promise<HostIsolate[]> {
    const { site } = this.#options.settings
    const slots = [...this.#slots]
    await Promise.all(slots.map((slot) => slot.measure()))
    const isEnding = this.#isClosed || this.#drained !== undefined
    return slots.map(({ record, active }) => ({ site, ...record.facts(active > 0, isEnding) }))
  }

  /** Begins to serve in the place of another pool. How long its isolates took so far is forgotten. */
  takeOver(): void {
    this.#isReplacing = false
    for (const slot of this.#slots) slot.record.buildMs = 0
  }

  get longestIdleMs(): number | undefined {
    return this.#queue.length > 0 ? undefined : longestIdle(this.#slots)?.idleMs
  }

  /**
   * Gives a job to the least busy thread, or lets it wait.
   * @throws RENDER_QUEUE_FULL; RENDER_STALE_MANIFEST when the pool has ended
   */
  run(job: PoolJob): void {
    const { limits, settings } = this.#options
    if (this.#isClosed) throw reloaded(settings.site)
    if (this.#queue.length >= limits.queueMax && leastBusy(this.#slots, limits.concurrency) === undefined) {
      throw new RenderError('RENDER_QUEUE_FULL', `${this.#queue.length} renders are waiting for ${settings.site}`)
    }
    this.#queue.push(job)
    this.#serveQueue()
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
    const slot = longestIdle(this.#slots)
    if (slot !== undefined) this.#close(slot)
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
    this.#failWaiting(reloaded(this.#options.settings.site))
    for (const slot of this.#slots) this.#close(slot)
    await Promise.all(this.#closing)
    this.#options.budget.remove(this)
  }

  #failWaiting(error: Error): void {
    const waiting = this.#queue
    this.#queue = []
    for (const job of waiting) job.fail(error)
  }

  /** Starts a thread if one is wanted and the budget allows it. */
  growIfNeeded(): void {
    if (shouldGrow(this.counts, this.#options.limits) && this.#options.budget.mayStart(this)) this.#start()
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
        released: (freed) => {
          if (this.#queue.length > 0) this.#serveQueue()
          else if (freed.active === 0) this.#options.budget.changed()
          this.#checkDrained()
        },
        died: (dead, error) => this.#died(dead, error),
        lost: events.lost,
        stuck: events.stuck,
        log: events.log,
        serve: events.serve,
      },
    })
    this.#slots.add(slot)
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const slot = leastBusy(this.#slots, this.#options.limits.concurrency)
      if (slot === undefined) break
      const job = this.#queue.shift()
      if (job === undefined) break
      job.started(slot)
      slot.run(job)
    }
    this.growIfNeeded()
  }

  #died(slot: ThreadSlot, error: Error): void {
    this.#slots.delete(slot)
    this.#options.events.died(error)
    this.#options.budget.changed()
    if (++this.#failedStarts < MAX_FAILED_STARTS) this.growIfNeeded()
    else {
      this.#failedStarts = 0
      this.#failWaiting(new RenderError('RENDER_ISOLATE_LOST', 'failed to start the render thread', { cause: error }))
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
    if (this.#drained !== undefined && this.counts.active === 0 && this.#queue.length === 0) this.#drained.resolve()
  }
}

/** The thread with room that has the fewest requests. */
function leastBusy(slots: Iterable<ThreadSlot>, concurrency: number): ThreadSlot | undefined {
  let best: ThreadSlot | undefined
  for (const slot of slots) {
    if (slot.isReady && slot.active < (best?.active ?? concurrency)) best = slot
  }
  return best
}

function longestIdle(slots: Iterable<ThreadSlot>): ThreadSlot | undefined {
  let longest: ThreadSlot | undefined
  for (const slot of slots) {
    if (slot.isReady && slot.active === 0 && slot.idleMs >= (longest?.idleMs ?? 0)) longest = slot
  }
  return longest
}

/** The host itself may go on: only the request has to be matched again. */
function reloaded(site: string): RenderError {
  return new RenderError('RENDER_STALE_MANIFEST', `${site} was reloaded meanwhile: match the request again`)
}

/** True if a pool should start another thread: one at a time, when those it has are busy or full. */
export function shouldGrow(
  { threads, starting, active, queued }: Omit<PoolCounts, 'busy'>,
  { maxThreads, concurrency }: Pick<PoolLimits, 'maxThreads' | 'concurrency'>,
): boolean {
  if (threads >= maxThreads || starting > 0) return false
  if (threads === 0) return queued > 0
  return queued > 0 || active >= threads * Math.min(BUSY_ABOVE, concurrency)
}
