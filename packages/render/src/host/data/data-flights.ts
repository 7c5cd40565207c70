import type { Fill, Purgeable, PurgeLedger } from '@svc/cache'
import type { FillOutcome } from '../../thread/data/data-methods.ts'

/** How a flight ended. */
export type FlightEnd = FillOutcome | 'stored'

/** An entry that somebody makes. */
export interface Flight {
  readonly id: number
  readonly key: string
  readonly fill: Fill
  /** What purges can match in it. */
  readonly entry: Purgeable
  readonly owner: object
  readonly isRefresh: boolean
  readonly ended: Promise<FlightEnd>
}

interface OpenFlight extends Flight {
  readonly settle: (end: FlightEnd) => void
  readonly timer: NodeJS.Timeout
}

/** Past this many keys whose revalidation has failed, those that came first are forgotten. */
const MAX_FAILURES = 1_000
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 60_000

/** A thread makes no more entries than these at once. */
const MAX_OF_OWNER = 1_024

/** What a flight is opened with. */
export interface FlightOptions {
  readonly key: string
  readonly entry: Purgeable
  /** Its flights end when it is gone. */
  readonly owner: object
  /** After this time it counts as lost. */
  readonly timeoutMs: number
  readonly isRefresh: boolean
}

/** The entries of the data cache that are being made by this host: one at a time for each key. */
export class DataFlights {
  readonly #ledger: PurgeLedger
  readonly #byKey = new Map<string, OpenFlight>()
  readonly #byId = new Map<number, OpenFlight>()
  readonly #countOf = new Map<object, number>()
  readonly #failures = new Map<string, { count: number; until: number }>()
  #lastId = 0

  constructor(ledger: PurgeLedger) {
    this.#ledger = ledger
  }

  get size(): number {
    return this.#byId.size
  }

  /** The flight of a key that may be waited for: none that a purge has overtaken. */
  joinable(key: string, entry: Purgeable): Flight | undefined {
    const flight = this.#byKey.get(key)
    if (flight === undefined) return undefined
    const mayJoin = this.#ledger.mayStore(flight.fill, entry) && this.#ledger.mayStore(flight.fill, flight.entry)
    return mayJoin ? flight : undefined
  }

  /** Whether somebody makes so many entries already that this one is not to be kept. */
  hasTooMany(owner: object): boolean {
    return (this.#countOf.get(owner) ?? 0) >= MAX_OF_OWNER
  }

  /** Opens a flight; one that a purge has overtaken goes on for those who wait for it. */
  open({ key, entry, owner, timeoutMs, isRefresh }: FlightOptions): Flight {
    const { promise: ended, resolve: settle } = Promise.withResolvers<FlightEnd>()
    const id = ++this.#lastId
    const timer = setTimeout(() => this.end(id, owner, 'lost'), timeoutMs)
    timer.unref()
    const flight = { id, key, fill: this.#ledger.begin(), entry, owner, isRefresh, ended, settle, timer }
    this.#byKey.set(key, flight)
    this.#byId.set(id, flight)
    this.#countOf.set(owner, (this.#countOf.get(owner) ?? 0) + 1)
    return flight
  }

  /** The flight with this id, if it is under way and the owner's. */
  find(id: number, owner: object): Flight | undefined {
    const flight = this.#byId.get(id)
    return flight?.owner === owner ? flight : undefined
  }

  /** Ends a flight; an unknown one, or one of another owner, is left alone. */
  end(id: number, owner: object, end: FlightEnd): void {
    const flight = this.#byId.get(id)
    if (flight?.owner !== owner) return
    clearTimeout(flight.timer)
    this.#byId.delete(id)
    if (this.#byKey.get(flight.key) === flight) this.#byKey.delete(flight.key)
    this.#ledger.end(flight.fill)
    const others = (this.#countOf.get(owner) ?? 0) - 1
    if (others > 0) this.#countOf.set(owner, others)
    else this.#countOf.delete(owner)
    if (end === 'stored') this.#failures.delete(flight.key)
    else if (end !== 'lost' && flight.isRefresh) this.#failed(flight.key)
    flight.settle(end)
  }

  /** Ends what a thread has under way that is no more. */
  ownerGone(owner: object): void {
    for (const { id } of [...this.#byId.values()].filter((flight) => flight.owner === owner)) this.end(id, owner, 'lost')
  }

  /** Whether a stale entry waits before it is tried again, because making it anew has just failed. */
  isHeldBack(key: string): boolean {
    const failure = this.#failures.get(key)
    return failure !== undefined && performance.now() < failure.until
  }

  #failed(key: string): void {
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(count - 1, 16), MAX_WAIT_MS)
    this.#failures.delete(key)
    this.#failures.set(key, { count, until: performance.now() + waitMs })
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > MAX_FAILURES && oldest !== undefined) this.#failures.delete(oldest)
  }
}
