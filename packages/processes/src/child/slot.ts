import { asError, type BackoffState, type Clock, delayMs, noFailures, recordFailure } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import type { ProcessExit } from './supervised-process.ts'
import type { SupervisorTimings } from './timings.ts'

/** A running program: its process, and the state that its owner keeps of it. */
interface Running {
  readonly process: {
    readonly exited: Promise<ProcessExit>
    readonly hasExited: boolean
    kill(): void
    stop(graceMs: number): Promise<ProcessExit>
  }
}

/** Facts of a death, for logs and decisions. */
export interface Death<P> {
  readonly running: P
  readonly exit: ProcessExit
  /** The error that prevented readiness, if that ended the process. */
  readonly cause: Error | undefined
  /** Deaths in a row, this one included. */
  readonly failures: number
  readonly retryInMs: number
}

/** Operations of a slot on its processes. */
interface SlotDriver<P extends Running> {
  launch(): P
  /** Makes a new process ready to serve. */
  bring(fresh: P): Promise<void>
  ready(fresh: P): void
  /** A process has ended unexpectedly. */
  died(death: Death<P>): void
  /** Warms up a new process for the work of the process that it is about to replace. Never rejects. */
  warm(fresh: P, old: P): Promise<void>
  /** Drains a replaced process. Its successor gets the new work. */
  retire(old: P, successor: P): Promise<void>
}

type SlotState = 'starting' | 'ready' | 'backing-off' | 'draining' | 'stopped'

/** Returns the start of the next process of these slots, in ms since the epoch; 0: one is starting or running. */
export function nextStartAt(slots: readonly Pick<Slot<Running>, 'state' | 'retryAt'>[]): number {
  const isWaiting = slots.length > 0 && slots.every(({ state }) => state === 'backing-off')
  return isWaiting ? Math.min(...slots.map(({ retryAt }) => retryAt)) : 0
}

/** Keeps one process running: starts it and replaces it whenever it ends, with a back-off if it ends repeatedly. */
export class Slot<P extends Running> {
  readonly #driver: SlotDriver<P>
  readonly #timings: SupervisorTimings
  readonly #clock: Clock
  #state: SlotState = 'stopped'
  #current: P | undefined
  #failures: BackoffState = noFailures
  #retryAt = 0
  #isStopping = false
  #wake = Promise.withResolvers<void>()
  #running: Promise<void> | undefined

  constructor(driver: SlotDriver<P>, timings: SupervisorTimings, clock: Clock) {
    this.#driver = driver
    this.#timings = timings
    this.#clock = clock
  }

  get state(): SlotState {
    return this.#state
  }

  /** The current process, ready or not. */
  get current(): P | undefined {
    return this.#current
  }

  /** The process, if it serves. */
  get ready(): P | undefined {
    return this.#state === 'ready' || this.#state === 'draining' ? this.#current : undefined
  }

  /** During a back-off: the start of the next process, in ms since the epoch. */
  get retryAt(): number {
    return this.#retryAt
  }

  /** True if its processes are in a crash loop. */
  get isLooping(): boolean {
    const isRecent = this.#clock.monotonic() - this.#failures.lastFailureAt < this.#timings.backoff.resetAfterMs
    return isRecent && this.#failures.failures > 2
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Announces a planned end of the process: it does not count as a death, and nothing replaces it. */
  beginDrain(): void {
    this.#isStopping = true
    if (this.#state === 'ready') this.#state = 'draining'
    this.#wake.resolve()
  }

  /** Ends the process and does not replace it. */
  async stop(graceMs: number): Promise<void> {
    this.beginDrain()
    await this.#current?.process.stop(graceMs)
    await this.#running
    this.#state = 'stopped'
  }

  /** Starts another process and, once it is ready, retires the current one. On failure it rejects and keeps the current one. */
  async replace(): Promise<void> {
    const old = this.#current
    const fresh = this.#driver.launch()
    try {
      await this.#bring(fresh)
      if (old !== undefined) await this.#driver.warm(fresh, old)
    } catch (error) {
      fresh.process.kill()
      throw error
    }
    if (this.#isStopping || this.#current !== old) {
      await fresh.process.stop(this.#timings.exitGraceMs)
      return
    }
    this.#current = fresh
    this.#state = 'ready'
    this.#driver.ready(fresh)
    if (old !== undefined && !old.process.hasExited) await this.#driver.retire(old, fresh)
    await old?.process.stop(this.#timings.exitGraceMs)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#state = 'starting'
      const first = this.#driver.launch()
      this.#current = first
      const cause = await this.#start(first)
      let current = first
      let exit = await current.process.exited
      // A replacement has taken over: its end counts, not the end of the replaced process.
      while (this.#current !== current) {
        current = this.#current
        exit = await current.process.exited
      }
      if (this.#isStopping) return
      this.#current = undefined
      await this.#recordDeath(current, exit, cause)
    }
  }

  async #start(first: P): Promise<Error | undefined> {
    try {
      await this.#bring(first)
      if (this.#isStopping) return undefined
      this.#state = 'ready'
      this.#driver.ready(first)
      return undefined
    } catch (error) {
      first.process.kill()
      return asError(error)
    }
  }

  async #bring(fresh: P): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>()
    const cancel = this.#clock.after(this.#timings.startTimeoutMs, () => {
      reject(new SupervisorError('SUP_NOT_READY', `not ready within ${this.#timings.startTimeoutMs} ms`))
    })
    try {
      await Promise.race([this.#driver.bring(fresh), promise])
    } finally {
      cancel()
    }
  }

  async #recordDeath(running: P, exit: ProcessExit, cause: Error | undefined): Promise<void> {
    this.#failures = recordFailure(this.#failures, this.#timings.backoff, this.#clock.monotonic())
    const retryInMs = delayMs(this.#failures, this.#timings.backoff)
    this.#state = 'backing-off'
    this.#retryAt = this.#clock.now() + retryInMs
    this.#driver.died({ running, exit, cause, failures: this.#failures.failures, retryInMs })
    if (retryInMs === 0) return
    const cancel = this.#clock.after(retryInMs, () => this.#wake.resolve())
    await this.#wake.promise
    cancel()
    if (!this.#isStopping) this.#wake = Promise.withResolvers()
  }
}
