import type { ThreadBase } from '../contract/thread-messages.ts'
import { StartedThread } from './started-thread.ts'
import type { ThreadBudget } from './thread-budget.ts'

/** How often a quiet moment for a new spare is looked for. */
const LOOK_MS = 200
/** So many looks in a row may find the host busy before a spare is started all the same. */
const MAX_BUSY_LOOKS = 25
/** After a spare that did not start, this many looks pass before the next one; twice as many after each further failure. */
const MAX_PASSED_LOOKS = 64

/** Options of a `SpareThread`. */
interface SpareThreadOptions {
  /** URL of the program of render threads. */
  readonly program: string
  readonly budget: ThreadBudget
  /** True if the host is idle. */
  readonly isQuiet: () => boolean
  readonly onFailed: (error: Error) => void
  readonly onCloseFailed: (error: unknown) => void
}

/**
 * The source of threads for pools. One started thread is kept that belongs to no site yet: most of the time until the first
 * page of a site that has no thread is the start of one. It counts against the budget like any other, and gives way first.
 */
export class SpareThread {
  readonly #options: SpareThreadOptions
  #thread: StartedThread | undefined
  #base: ThreadBase | undefined
  #failures = 0
  #passing = 0
  #busyLooks = 0
  #look: NodeJS.Timeout | undefined
  #isWanted = false

  constructor(options: SpareThreadOptions) {
    this.#options = options
  }

  /** True if a spare thread is ready. */
  get isReady(): boolean {
    return this.#thread?.isLinked === true
  }

  /** Sets the start settings of threads; a spare with other settings is closed. */
  useBase(base: ThreadBase): void {
    this.#base = base
    this.#failures = 0
    this.#passing = 0
    if (this.#thread !== undefined && !isSame(this.#thread.base, base)) this.#drop()
    if (this.#isWanted) this.#refill()
  }

  /** From now on a spare is kept. Without this call none is: a host that stands by for another needs none. */
  want(): void {
    this.#isWanted = true
    this.#refill()
  }

  /** The spare, running or still starting, else a thread that begins to start. The caller's own. */
  take(base: ThreadBase): StartedThread {
    const spare = this.#thread
    const isFit = spare !== undefined && isSame(spare.base, base)
    if (isFit) this.#thread = undefined
    this.#drop()
    this.refillSoon()
    return isFit ? spare : new StartedThread(this.#options.program, base)
  }

  /** Starts a spare in the next quiet moment when there is none. Called now and then, and after one was taken. */
  refillSoon(): void {
    if (this.#options.budget.isOverfull) this.#drop()
    if (!this.#isWanted || this.#thread !== undefined || this.#look !== undefined) return
    this.#look = setTimeout(() => {
      this.#look = undefined
      if (!this.#options.isQuiet() && ++this.#busyLooks < MAX_BUSY_LOOKS) this.refillSoon()
      else this.#refill()
    }, LOOK_MS)
    this.#look.unref()
  }

  /** Ends the spare, and none is kept any more. */
  close(): void {
    this.#isWanted = false
    clearTimeout(this.#look)
    this.#look = undefined
    this.#drop()
  }

  #refill(): void {
    this.#busyLooks = 0
    const base = this.#base
    if (base === undefined || this.#thread !== undefined || !this.#options.budget.hasRoomForSpare) return
    if (this.#passing > 0) {
      this.#passing--
      return
    }
    const thread = new StartedThread(this.#options.program, base)
    this.#thread = thread
    this.#options.budget.setSpare(1)
    thread.own({
      linked: () => {
        this.#failures = 0
      },
      ended: (error) => this.#ended(thread, error),
    })
  }

  #drop(): void {
    const thread = this.#thread
    this.#thread = undefined
    this.#options.budget.setSpare(0)
    thread?.close().catch(this.#options.onCloseFailed)
  }

  #ended(thread: StartedThread, error: Error): void {
    if (this.#thread !== thread) return
    this.#passing = Math.min(2 ** this.#failures++, MAX_PASSED_LOOKS)
    this.#drop()
    this.#options.onFailed(error)
  }
}

function isSame(a: ThreadBase, b: ThreadBase): boolean {
  return a.guestDir === b.guestDir && a.timeoutMs === b.timeoutMs && a.memoryLimitMb === b.memoryLimitMb
}
