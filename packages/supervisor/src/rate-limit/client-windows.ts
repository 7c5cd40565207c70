import { COUNTED_SECONDS } from './budget.ts'

/** Clients that are counted at a time: a client that never sends from the same address twice must not fill the memory. */
const MAX_CLIENTS = 65_536
/** To make room, the quietest of so many gives way. */
const CANDIDATES = 16

/** Bounds of `ClientWindows`. */
interface WindowBounds {
  /** Seconds that count; or other units of time, where the caller numbers those. */
  readonly counted: number
  readonly maxClients: number
}

/** The requests of one client by second, in the order of time. */
class ClientWindow {
  readonly #counted: number
  readonly #seconds: number[] = []
  readonly #counts: number[] = []
  total = 0
  refused = 0

  constructor(counted: number) {
    this.#counted = counted
  }

  add(second: number, requests: number): void {
    if (requests <= 0) return
    if (this.#seconds.at(-1) === second) this.#counts[this.#counts.length - 1] = (this.#counts.at(-1) ?? 0) + requests
    else {
      this.#seconds.push(second)
      this.#counts.push(requests)
    }
    this.total += requests
  }

  /** Takes requests back that did not pass. @param second undefined: the last in which some were counted */
  remove(second: number | undefined, requests: number): void {
    const place = second === undefined ? this.#seconds.length - 1 : this.#seconds.indexOf(second)
    const count = this.#counts[place]
    if (count === undefined) return
    const removed = Math.min(count, requests)
    this.#counts[place] = count - removed
    this.total -= removed
  }

  /** Forgets what no window that ends in this second contains. */
  moveTo(second: number): void {
    let gone = 0
    while ((this.#seconds[gone] ?? second) <= second - this.#counted) this.total -= this.#counts[gone++] ?? 0
    if (gone === 0) return
    this.#seconds.splice(0, gone)
    this.#counts.splice(0, gone)
  }

  /** The second in which the first requests leave the window; undefined: there are none. */
  get freedAt(): number | undefined {
    const first = this.#counts.findIndex((count) => count > 0)
    const second = this.#seconds[first]
    return second === undefined ? undefined : second + this.#counted
  }
}

/** The requests of clients in the last minute. Seconds are numbered by any clock that never goes back. */
export class ClientWindows {
  readonly #clients = new Map<string, ClientWindow>()
  readonly #bounds: WindowBounds
  #sweep = this.#clients.entries()

  constructor(bounds: WindowBounds = { counted: COUNTED_SECONDS, maxClients: MAX_CLIENTS }) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#clients.size
  }

  /** The window of a client as of a second, made if it is new. */
  of(client: string, second: number): ClientWindow {
    const known = this.#clients.get(client)
    if (known !== undefined) {
      known.moveTo(second)
      return known
    }
    this.#tidy(second)
    const made = new ClientWindow(this.#bounds.counted)
    this.#clients.set(client, made)
    return made
  }

  /** @returns undefined if the client is not counted */
  known(client: string): ClientWindow | undefined {
    return this.#clients.get(client)
  }

  forget(client: string): boolean {
    return this.#clients.delete(client)
  }

  *all(second: number): Iterable<[client: string, window: ClientWindow]> {
    for (const [client, window] of this.#clients) {
      window.moveTo(second)
      if (window.total > 0) yield [client, window]
    }
  }

  /** Looks at some clients for each new one: those without requests go, and the quietest if all places are taken. */
  #tidy(second: number): void {
    let quietest: string | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (let looks = Math.min(CANDIDATES, this.#clients.size); looks > 0; looks--) {
      let next = this.#sweep.next()
      if (next.done === true) {
        this.#sweep = this.#clients.entries()
        next = this.#sweep.next()
      }
      if (next.done === true) return
      const [client, window] = next.value
      window.moveTo(second)
      if (window.total === 0) this.#clients.delete(client)
      else if (window.total < fewest) {
        quietest = client
        fewest = window.total
      }
    }
    if (this.#clients.size >= this.#bounds.maxClients && quietest !== undefined) this.#clients.delete(quietest)
  }
}
