import { asError, type BackoffState, type Clock, type Deferred, deferred, delayMs, noFailures, recordFailure } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import type { ProcessExit } from './supervised-process.ts'
import type { SupervisorTimings } from './timings.ts'

/** What a slot needs of a process. */
interface SlotProcess {
  readonly pid: number
  readonly exited: Promise<ProcessExit>
  readonly hasExited: boolean
  kill(): void
  stop(graceMs: number): Promise<ProcessExit>
}

/** How a death came about, for logs and decisions. */
export interface Death<P> {
  readonly process: P
  readonly exit: ProcessExit
  /** Why the process could not be made ready, when that is what ended it. */
  readonly cause: Error | undefined
  /** Deaths in a row, this one included. */
  readonly failures: number
  readonly retryInMs: number
}

/** What a slot does with its processes. */
interface SlotDriver<P extends SlotProcess> {
  launch(): P
  /** Makes a new process ready to serve. */
  bring(process: P): Promise<void>
  ready(process: P): void
  /** A process has ended that was not told to. */
  died(death: Death<P>): void
  /** Prepares a new process for the work of the one that it is about to replace. Never rejects. */
  warm(process: P, old: P): Promise<void>
  /** Lets a process that has been replaced finish its work, which is its successor's from now on. */
  retire(process: P, successor: P): Promise<void>
}

type SlotState = 'starting' | 'ready' | 'backing-off' | 'draining' | 'stopped'

/** When the next process of these slots is started, in ms since the epoch; 0: one is starting or there already. */
export function nextStartAt(slots: readonly Pick<Slot<SlotProcess>, 'state' | 'retryAt'>[]): number {
  const isWaiting = slots.length > 0 && slots.every(({ state }) => state === 'backing-off')
  return isWaiting ? Math.min(...slots.map(({ retryAt }) => retryAt)) : 0
}

/** Keeps one process running: starts it, and replaces it whenever it ends, with growing waits when it keeps ending. */
export class Slot<P extends SlotProcess> {
  readonly #driver: SlotDriver<P>
  readonly #timings: SupervisorTimings
  readonly #clock: Clock
  #state: SlotState = 'stopped'
  #process: P | undefined
  #failures: BackoffState = noFailures
  #retryAt = 0
  #isStopping = false
  #wake: Deferred<void> = deferred()
  #running: Promise<void> | undefined

  constructor(driver: SlotDriver<P>, timings: SupervisorTimings, clock: Clock) {
    this.#driver = driver
    this.#timings = timings
    this.#clock = clock
  }

  get state(): SlotState {
    return this.#state
  }

  /** The process that runs at the moment, ready or not. */
  get process(): P | undefined {
    return this.#process
  }

  /** The process, when it serves. */
  get readyProcess(): P | undefined {
    return this.#state === 'ready' || this.#state === 'draining' ? this.#process : undefined
  }

  /** While it backs off: when it starts its next process, in ms since the epoch. */
  get retryAt(): number {
    return this.#retryAt
  }

  /** Whether its processes keep dying. */
  get isLooping(): boolean {
    const isRecent = this.#clock.monotonic() - this.#failures.lastFailureAt < this.#timings.backoff.resetAfterMs
    return isRecent && this.#failures.failures > 2
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Says that the process is about to end on purpose: its end is no death and nothing replaces it. */
  beginDrain(): void {
    this.#isStopping = true
    if (this.#state === 'ready') this.#state = 'draining'
    this.#wake.resolve()
  }

  /** Ends the process and does not replace it. */
  async stop(graceMs: number): Promise<void> {
    this.beginDrain()
    await this.#process?.stop(graceMs)
    await this.#running
    this.#state = 'stopped'
  }

  /** Starts another process and, once it is ready, retires the present one. Rejects, and keeps the present one, if it cannot. */
  async replace(): Promise<void> {
    const old = this.#process
    const fresh = this.#driver.launch()
    try {
      await this.#bring(fresh)
      if (old !== undefined) await this.#driver.warm(fresh, old)
    } catch (error) {
      fresh.kill()
      throw error
    }
    if (this.#isStopping || this.#process !== old) {
      await fresh.stop(this.#timings.exitGraceMs)
      return
    }
    this.#process = fresh
    this.#state = 'ready'
    this.#driver.ready(fresh)
    if (old !== undefined && !old.hasExited) await this.#driver.retire(old, fresh)
    await old?.stop(this.#timings.exitGraceMs)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#state = 'starting'
      const first = this.#driver.launch()
      this.#process = first
      const cause = await this.#start(first)
      let current = first
      let exit = await current.exited
      // A replacement has taken over: its end counts, not that of the one it replaced.
      while (this.#process !== current) {
        current = this.#process
        exit = await current.exited
      }
      if (this.#isStopping) return
      this.#process = undefined
      await this.#recordDeath(current, exit, cause)
    }
  }

  async #start(process: P): Promise<Error | undefined> {
    try {
      await this.#bring(process)
      if (this.#isStopping) return undefined
      this.#state = 'ready'
      this.#driver.ready(process)
      return undefined
    } catch (error) {
      process.kill()
      return asError(error)
    }
  }

  async #bring(process: P): Promise<void> {
    const { promise, reject } = deferred<never>()
    const cancel = this.#clock.after(this.#timings.startTimeoutMs, () => {
      reject(new SupervisorError('SUP_NOT_READY', `not ready within ${this.#timings.startTimeoutMs} ms`))
    })
    try {
      await Promise.race([this.#driver.bring(process), promise])
    } finally {
      cancel()
    }
  }

  async #recordDeath(process: P, exit: ProcessExit, cause: Error | undefined): Promise<void> {
    this.#failures = recordFailure(this.#failures, this.#timings.backoff, this.#clock.monotonic())
    const retryInMs = delayMs(this.#failures, this.#timings.backoff)
    this.#state = 'backing-off'
    this.#retryAt = this.#clock.now() + retryInMs
    this.#driver.died({ process, exit, cause, failures: this.#failures.failures, retryInMs })
    if (retryInMs === 0) return
    const cancel = this.#clock.after(retryInMs, () => this.#wake.resolve())
    await this.#wake.promise
    cancel()
    if (!this.#isStopping) this.#wake = deferred()
  }
}
