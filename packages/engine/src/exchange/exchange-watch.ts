import type { HttpRequest } from '@svc/http'

/** Limits of a request; read for each request that needs them, so that a reload takes effect at once. */
export interface EngineLimits {
  /** Largest request body in bytes; past it the response is 413. */
  readonly maxBodyBytes: number
  /** Milliseconds from the end of the request head until the response head is sent; past it 408 or 504. */
  readonly requestTimeoutMs: number
  /** Milliseconds until a connection on which nothing goes on is closed. Engine uws has a time of its own for that. */
  readonly idleTimeoutMs: number
  /** Largest request head in bytes; past it 431. Engine uws takes it from its environment when it starts. */
  readonly maxHeaderBytes: number
}

/** Why the engine itself answered a request. */
export interface Refusal {
  readonly status: number
  /** Stable word for logs and metrics, e.g. "duplicate_content_length". */
  readonly code: string
  readonly listener: string
  readonly remoteAddress: string
  /** As sent; may be no method at all. */
  readonly method: string
  /** As sent; may be no target at all. */
  readonly target: string
  /** The request, when it had been given to `onExchange`: its exchange ends as aborted. */
  readonly request: HttpRequest | undefined
}

/** Interval of the checks of deadlines. */
const SWEEP_MS = 100

/** An exchange as the watch sees it. */
export interface WatchedExchange {
  /** Its place in the watch; undefined: it is not watched. Written by the watch alone. */
  watchPlace: number | undefined
  /** Ends exchanges that have timed out. `now` in ms of the monotonic clock. */
  check(now: number, limits: EngineLimits): void
  /** Cuts its connection. */
  cut(): void
}

/**
 * Looks at unanswered exchanges from time to time: one timer for all instead of one for each request. Without any the timer
 * rests.
 */
export class ExchangeWatch {
  readonly #limits: () => EngineLimits
  readonly #onProblem: (error: unknown) => void
  /** A list, and each exchange knows its place: the table of a `Set` would keep finished exchanges (see `TransientMap`). */
  readonly #watched: WatchedExchange[] = []
  #timer: NodeJS.Timeout | undefined
  /** Time of the last sweep, which the next one compares with: after a pause of the process, a handler still reaches its own limit first. */
  #sweptAt = 0

  constructor(limits: () => EngineLimits, onProblem: (error: unknown) => void) {
    this.#limits = limits
    this.#onProblem = onProblem
  }

  add(exchange: WatchedExchange): void {
    exchange.watchPlace = this.#watched.push(exchange) - 1
    if (this.#timer !== undefined) return
    this.#sweptAt = performance.now()
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  remove(exchange: WatchedExchange): void {
    const place = exchange.watchPlace
    if (place === undefined) return
    exchange.watchPlace = undefined
    const last = this.#watched.pop()
    if (last === undefined || last === exchange) return
    this.#watched[place] = last
    last.watchPlace = place
  }

  /** Cuts all watched exchanges. */
  cutAll(): void {
    for (const exchange of [...this.#watched]) exchange.cut()
  }

  #sweep(): void {
    if (this.#watched.length === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    try {
      const limits = this.#limits()
      const now = this.#sweptAt
      this.#sweptAt = performance.now()
      for (const exchange of [...this.#watched]) exchange.check(now, limits)
    } catch (error) {
      this.#onProblem(error)
    }
  }
}

/** State shared by all exchanges of one engine. */
export interface EngineContext {
  /** True if responses ask the client to close its connection. */
  readonly isDraining: boolean
  limits(): EngineLimits
  problem(error: unknown): void
  refused(refusal: Refusal): void
  /** A request has come in. */
  began(): void
  /** The exchange is not answered by its handler and has to be watched. */
  watch(exchange: WatchedExchange): void
  /** The exchange has released its connection. */
  released(exchange: WatchedExchange): void
}
