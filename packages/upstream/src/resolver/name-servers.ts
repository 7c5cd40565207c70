import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { asError, type Clock, codeOf, SingleFlight } from '@svc/core'
import { UpstreamError } from '../errors/errors.ts'

/** Names that are kept for each `resolver`; past them the oldest goes. */
const MAX_NAMES = 1_000
/** Names that are asked for at once. */
const MAX_IN_FLIGHT = 1_000
/** Addresses of one name that are used. */
const MAX_ADDRESSES = 64
/** How long one name server has for its answer before it, or the next one, is asked again. */
const TRY_MS = 5_000
/** Longest life of an answer, in seconds: a name server may say anything. */
const MAX_TTL_SECONDS = 86_400
/** Answers that say there is no such name, or no address of this kind. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND'])

/** After a failure the last answer is used for so long. */
const RETRY_MS = 1_000

/** The name servers say that a name has no address. */
class NoAddress extends Error {
  override readonly message = 'the name has no address'
}

/** A `resolver` as configured. */
export interface ResolverSpec {
  /** "host:port", with brackets for IPv6. */
  readonly servers: readonly string[]
  /** Time for which answers are used, in milliseconds; undefined: their own. */
  readonly validMs: number | undefined
  readonly hasIpv4: boolean
  readonly hasIpv6: boolean
  /** Limit for one name, in milliseconds. */
  readonly timeoutMs: number
}

/** The addresses of a name, up to a time of the monotonic clock. */
interface FoundAddresses {
  readonly addresses: readonly string[]
  readonly untilMs: number
}

interface Answer {
  readonly addresses: readonly string[]
  readonly ttlSeconds: number
}

/** Asks the name servers of one `resolver`, and remembers their answers for as long as those say. */
export class NameServers {
  readonly #spec: ResolverSpec
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #known = new Map<string, FoundAddresses>()
  readonly #asking = new SingleFlight<string, FoundAddresses>()
  #inFlight = 0
  #client: Promise<Resolver> | undefined

  constructor(spec: ResolverSpec, clock: Pick<Clock, 'monotonic'>) {
    this.#spec = spec
    this.#clock = clock
  }

  /**
   * The addresses of a name.
   * @throws UPSTREAM_UNREACHABLE
   */
  async find(host: string): Promise<FoundAddresses> {
    const known = this.#known.get(host)
    if (known !== undefined && this.#clock.monotonic() < known.untilMs) return known
    try {
      return await this.#asking.run(host, () => this.#ask(host))
    } catch (cause) {
      // Silence is no word about the name.
      if (known !== undefined && !(cause instanceof NoAddress)) return { ...known, untilMs: this.#clock.monotonic() + RETRY_MS }
      this.#known.delete(host)
      throw new UpstreamError('UPSTREAM_UNREACHABLE', `${host} could not be resolved`, { cause: asError(cause) })
    }
  }

  async #ask(host: string): Promise<FoundAddresses> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw new UpstreamError('UPSTREAM_UNREACHABLE', 'too many names are being resolved')
    this.#inFlight++
    try {
      const { addresses, ttlSeconds } = await this.#within(this.#query(host))
      const validMs = this.#spec.validMs ?? Math.min(ttlSeconds, MAX_TTL_SECONDS) * 1000
      const found = { addresses: addresses.slice(0, MAX_ADDRESSES), untilMs: this.#clock.monotonic() + validMs }
      this.#remember(host, found)
      return found
    } finally {
      this.#inFlight--
    }
  }

  #remember(host: string, found: FoundAddresses): void {
    this.#known.delete(host)
    this.#known.set(host, found)
    const oldest = this.#known.size > MAX_NAMES ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
  }

  async #query(host: string): Promise<Answer> {
    this.#client ??= this.#makeClient()
    const client = await this.#client.catch((error) => {
      // The name of a name server may be found later.
      this.#client = undefined
      throw error
    })
    const { hasIpv4, hasIpv6 } = this.#spec
    const [four, six] = await Promise.all([
      hasIpv4 ? orNone(client.resolve4(host, { ttl: true })) : [],
      hasIpv6 ? orNone(client.resolve6(host, { ttl: true })) : [],
    ])
    const records = [four, six].flatMap((answer) => (answer instanceof Error ? [] : answer))
    const failure = [four, six].find((answer) => answer instanceof Error)
    if (records.length === 0) throw failure ?? new NoAddress()
    return { addresses: records.map(({ address }) => address), ttlSeconds: Math.min(...records.map(({ ttl }) => ttl)) }
  }

  async #makeClient(): Promise<Resolver> {
    const { servers, timeoutMs } = this.#spec
    const client = new Resolver({ timeout: Math.min(TRY_MS, timeoutMs), tries: Math.max(1, Math.ceil(timeoutMs / TRY_MS)) })
    client.setServers((await Promise.all(servers.map(addressesOf))).flat())
    return client
  }

  /** Answers may be late by more than the client's own limit, which grows with each try. */
  #within(answer: Promise<Answer>): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const { timeoutMs } = this.#spec
    const timer = setTimeout(() => reject(new UpstreamError('UPSTREAM_UNREACHABLE', `no answer in ${timeoutMs} ms`)), timeoutMs)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
    return promise
  }
}

async function orNone<Record>(answer: Promise<Record[]>): Promise<Record[] | Error> {
  try {
    return await answer
  } catch (error) {
    return NO_ADDRESS.has(codeOf(error) ?? '') ? [] : asError(error)
  }
}

/** A name server that is named by a host is found by the operating system. */
async function addressesOf(server: string): Promise<readonly string[]> {
  const [, host = '', port = '53'] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(server) ?? []
  const found = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }]
  return found.map(({ address }) => (isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`))
}
