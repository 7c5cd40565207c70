import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Clock, SingleFlight } from '@svc/core'
import { UpstreamError } from '../errors/errors.ts'

/** Time for which a result of the system resolver is used. */
const KEEP_MS = 30_000
/** Names that are kept; past them the oldest goes. */
const MAX_NAMES = 1_000

/** The error for a server with an invalid address. */
export function notAPlace(address: string): UpstreamError {
  return new UpstreamError('UPSTREAM_UNREACHABLE', `invalid upstream address ${JSON.stringify(address)}`)
}

/** Cached addresses of a name. */
class Known {
  /** In the order of the system, but last those that did not answer when they were tried. */
  addresses: readonly string[]
  untilMs: number
  readonly #failed: Set<string>

  constructor(addresses: readonly string[], untilMs: number, before: Known | undefined) {
    const failed = new Set(before === undefined ? [] : addresses.filter((address) => before.#failed.has(address)))
    this.addresses = [...addresses.filter((address) => !failed.has(address)), ...failed]
    this.untilMs = untilMs
    this.#failed = failed
  }

  answered(address: string): void {
    this.#failed.delete(address)
  }

  failed(address: string): void {
    if (!this.addresses.includes(address)) return
    this.#failed.add(address)
    this.addresses = [...this.addresses.filter((other) => other !== address), address]
  }
}

type Lookup = (host: string) => Promise<readonly string[]>

/** Finds the addresses of a name, and remembers them: for a while, and longer while the resolver cannot say. */
export class AddressBook {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #lookup: Lookup
  readonly #known = new Map<string, Known>()
  readonly #inFlight = new SingleFlight<string, readonly string[]>()

  constructor(clock: Pick<Clock, 'monotonic'>, find: Lookup = systemLookup) {
    this.#clock = clock
    this.#lookup = find
  }

  /** Addresses that need no asking; undefined: the name has to be looked up. */
  known(host: string): readonly string[] | undefined {
    if (isIP(host) !== 0) return [host]
    const known = this.#known.get(host)
    return known !== undefined && this.#clock.monotonic() < known.untilMs ? known.addresses : undefined
  }

  /**
   * All addresses of a name, in the order in which they are to be tried.
   * @throws the error of the system resolver
   */
  async find(host: string): Promise<readonly string[]> {
    return this.known(host) ?? this.#inFlight.run(host, () => this.#ask(host))
  }

  async #ask(host: string): Promise<readonly string[]> {
    const addresses = await this.#lookup(host).catch((error) => this.#before(host, error))
    const known = new Known(addresses, this.#clock.monotonic() + KEEP_MS, this.#known.get(host))
    this.#known.delete(host)
    this.#known.set(host, known)
    const oldest = this.#known.size > MAX_NAMES ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
    return known.addresses
  }

  /** The last result of the resolver before it stopped working. "No such name" is a result. */
  #before(host: string, error: unknown): readonly string[] {
    const known = this.#known.get(host)
    const isAnswer = error instanceof Error && 'code' in error && error.code === 'ENOTFOUND'
    if (known !== undefined && !isAnswer) return known.addresses
    this.#known.delete(host)
    throw error
  }

  /** True if an address of a name answered: one that did not is tried last from now on. */
  tried(host: string, address: string, hasAnswered: boolean): void {
    const known = this.#known.get(host)
    if (hasAnswered) known?.answered(address)
    else known?.failed(address)
  }

  /** None of the addresses of a name answered: it is looked up again. */
  forget(host: string): void {
    const known = this.#known.get(host)
    if (known !== undefined) known.untilMs = Number.NEGATIVE_INFINITY
  }
}

async function systemLookup(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}
