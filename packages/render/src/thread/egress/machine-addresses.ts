import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { codeOf } from '@svc/core'
import ipaddr from 'ipaddr.js'
import { RenderError } from '../../errors/errors.ts'
import { canonical, parseAddress, possibleTargets } from './address-forms.ts'

/** Reading the interfaces takes about 0.05 ms. A page may call `fetch` thousands of times. */
const MAX_AGE_MS = 1_000
/** Networks with a longer prefix have no broadcast address (RFC 3021). */
const MAX_BROADCAST_PREFIX = 30
/** No interface has one of these: class E, and the discard prefix of RFC 6666. */
const NEVER_LOCAL = { v4: '240.0.0.1', v6: '100::1' }
/** The kernel's words for "not an address of this machine" and "no such family of addresses here". */
const NOT_LOCAL = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

/** Source of the addresses of the machine. */
interface MachineSources {
  /** @default networkInterfaces of node:os */
  readonly interfaces?: () => NodeJS.Dict<NetworkInterfaceInfo[]>
  /** Monotonic milliseconds. @default performance.now */
  readonly now?: () => number
}

/** Knows the addresses of the machine's interfaces. Follows their changes: no answer is older than a second. */
export class MachineAddresses {
  readonly #interfaces: () => NodeJS.Dict<NetworkInterfaceInfo[]>
  readonly #now: () => number
  #addresses: ReadonlySet<string> = new Set()
  #readAt = Number.NEGATIVE_INFINITY

  constructor({ interfaces = networkInterfaces, now = () => performance.now() }: MachineSources = {}) {
    this.#interfaces = interfaces
    this.#now = now
  }

  /**
   * Says whether an address is one of the machine, in whatever form it is embedded, or a broadcast address of its networks.
   * @throws RENDER_FETCH_FAILED when the interfaces cannot be read
   */
  includes(address: string): boolean {
    const parsed = parseAddress(address)
    if (parsed === undefined) return false
    const known = this.#current()
    return possibleTargets(parsed).some((one) => known.has(one))
  }

  #current(): ReadonlySet<string> {
    const now = this.#now()
    if (now - this.#readAt < MAX_AGE_MS) return this.#addresses
    try {
      this.#addresses = new Set(Object.values(this.#interfaces()).flatMap((list) => (list ?? []).flatMap(addressesOf)))
    } catch (error) {
      throw new RenderError('RENDER_FETCH_FAILED', "failed to read the addresses of the machine's interfaces", { cause: error })
    }
    this.#readAt = now
    return this.#addresses
  }
}

/** An address of an interface, and the broadcast address of its network. */
function addressesOf({ address, cidr }: NetworkInterfaceInfo): string[] {
  const parsed = parseAddress(address)
  if (parsed === undefined) return []
  const own = canonical(parsed)
  if (cidr === null || parsed.kind() === 'ipv6') return [own]
  const isShared = Number(cidr.split('/')[1]) <= MAX_BROADCAST_PREFIX
  return isShared ? [own, ipaddr.IPv4.broadcastAddressFromCIDR(cidr).toNormalizedString()] : [own]
}

/**
 * Asks the kernel whether an address belongs to this machine; nothing is sent. The kernel also knows the addresses that no list
 * of interfaces shows: those of interfaces without a carrier, and IPv4 ranges that are routed to the machine as a whole (for those
 * of IPv6 see `RoutedRanges`).
 * @throws the error of the system when it has no socket left
 */
export async function isLocalAddress(address: string): Promise<boolean> {
  if (!(await canBind(address))) return false
  // With the setting ip_nonlocal_bind every address can be bound, and the answer means nothing.
  return !(await canBind(isIPv6(address) ? NEVER_LOCAL.v6 : NEVER_LOCAL.v4))
}

function canBind(address: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const family = isIPv6(address) ? 6 : 4
  const socket = createSocket({ type: family === 6 ? 'udp6' : 'udp4', lookup: (_, __, done) => done(null, address, family) })
  socket.once('error', (error) => {
    socket.close()
    if (NOT_LOCAL.has(String(codeOf(error)))) resolve(false)
    else reject(error)
  })
  socket.bind({ address, port: 0, exclusive: true }, () => {
    socket.close()
    resolve(true)
  })
  return promise
}
