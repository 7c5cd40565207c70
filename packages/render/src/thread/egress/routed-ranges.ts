import { open } from 'node:fs/promises'
import { codeOf, SingleFlight } from '@svc/core'
import ipaddr from 'ipaddr.js'
import { RenderError } from '../../errors/errors.ts'
import { parseAddress } from './address-forms.ts'

/** All IPv6 routes of this network namespace, in all routing tables: one in a line, numbers in hexadecimal digits. */
const ROUTES_FILE = '/proc/net/ipv6_route'
/** RTF_LOCAL and RTF_ANYCAST of linux/ipv6_route.h: packets for such a route are delivered to this machine. */
const DELIVERED_HERE = 0x80000000 + 0x00100000
/** No answer is older, unless reading takes long: a router that knows all networks of the internet has 200,000 routes. */
const MAX_AGE_MS = 1_000
/** Reading takes at most this share of the time. */
const READ_SHARE = 0.05

interface Range {
  readonly network: ipaddr.IPv6
  readonly prefixBits: number
}

/** Source of the routes. */
interface RouteSources {
  /** Lines of the kernel's table. @default those of /proc/net/ipv6_route */
  readonly lines?: () => AsyncIterable<string>
  /** Monotonic milliseconds. @default performance.now */
  readonly now?: () => number
}

/**
 * Knows the IPv6 ranges that the kernel delivers to this machine as a whole (`ip -6 route add local`). No interface shows their
 * addresses, and other than with IPv4 none of them can be bound unless a socket asks for it, which Node.js cannot.
 */
export class RoutedRanges {
  readonly #lines: () => AsyncIterable<string>
  readonly #now: () => number
  readonly #reading = new SingleFlight<'ranges', readonly Range[]>()
  #ranges: readonly Range[] = []
  #validUntil = Number.NEGATIVE_INFINITY

  constructor({ lines = linesOfKernel, now = () => performance.now() }: RouteSources = {}) {
    this.#lines = lines
    this.#now = now
  }

  /**
   * Says whether an IPv6 address lies in one of the ranges.
   * @throws RENDER_FETCH_FAILED when the routes cannot be read
   */
  async includes(address: string): Promise<boolean> {
    const parsed = parseAddress(address)
    if (parsed?.kind() !== 'ipv6') return false
    const ranges = await this.#current()
    return ranges.some(({ network, prefixBits }) => (parsed as ipaddr.IPv6).match(network, prefixBits))
  }

  async #current(): Promise<readonly Range[]> {
    if (this.#now() < this.#validUntil) return this.#ranges
    return await this.#reading.run('ranges', () => this.#read())
  }

  async #read(): Promise<readonly Range[]> {
    const startedAt = this.#now()
    const ranges: Range[] = []
    try {
      for await (const line of this.#lines()) {
        const range = rangeOf(line)
        if (range !== undefined) ranges.push(range)
      }
    } catch (error) {
      // A kernel without IPv6 has no such file, and no such routes.
      if (codeOf(error) !== 'ENOENT') {
        throw new RenderError('RENDER_FETCH_FAILED', `failed to read the routes of the machine from ${ROUTES_FILE}`, {
          cause: error,
        })
      }
    }
    const endedAt = this.#now()
    this.#ranges = ranges
    this.#validUntil = startedAt + Math.max(MAX_AGE_MS, (endedAt - startedAt) / READ_SHARE)
    return ranges
  }
}

/** Fields: destination, its prefix, source, its prefix, next hop, metric, references, uses, flags, interface. */
function rangeOf(line: string): Range | undefined {
  const [destination = '', prefix = '', , , , , , , flags = ''] = line.trim().split(/\s+/)
  const isDelivered = (Number.parseInt(flags, 16) & DELIVERED_HERE) !== 0
  if (!isDelivered || !/^[0-9a-f]{32}$/.test(destination)) return undefined
  return { network: new ipaddr.IPv6([...Buffer.from(destination, 'hex')]), prefixBits: Number.parseInt(prefix, 16) }
}

async function* linesOfKernel(): AsyncIterable<string> {
  const handle = await open(ROUTES_FILE)
  yield* handle.readLines()
}
