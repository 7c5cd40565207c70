import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { RenderError } from '../../errors/errors.ts'
import { checkEgress, type EgressRules, type EgressTarget, machineRefusal } from './address-policy.ts'
import { isLocalAddress, MachineAddresses } from './machine-addresses.ts'
import { RoutedRanges } from './routed-ranges.ts'

interface Found {
  readonly address: string
  readonly family: number
}

async function addressesOf(hostname: string): Promise<Found[]> {
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  try {
    return await lookup(hostname, { all: true })
  } catch (error) {
    throw new RenderError('RENDER_FETCH_FAILED', `the name ${hostname} does not resolve`, { cause: error })
  }
}

function portOf({ port, protocol }: { readonly port: string | null; readonly protocol: string }): number {
  return Number(port === '' || port === null ? (protocol === 'https:' ? 443 : 80) : port)
}

/** Decides about the connections of one site by its rules and the addresses that the machine has at the time. */
export class EgressGuard {
  readonly #rules: EgressRules
  readonly #machine: MachineAddresses
  readonly #routed = new RoutedRanges()

  constructor(rules: EgressRules, machine = new MachineAddresses()) {
    this.#rules = rules
    this.#machine = machine
  }

  /**
   * Refuses a URL whose address needs no look-up before anything is done for it: a page may ask for thousands.
   * @throws RENDER_FETCH_REFUSED
   */
  refuseAddress(url: URL): void {
    const hostname = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(hostname) === 0) return
    const verdict = this.#check({ hostname, address: hostname, port: portOf(url) })
    if (!verdict.isAllowed) throw new RenderError('RENDER_FETCH_REFUSED', verdict.reason)
  }

  /**
   * Resolves a name once and returns the addresses that may be connected to.
   * @throws RENDER_FETCH_REFUSED when none may, RENDER_FETCH_FAILED when the name does not resolve
   */
  async allowedAddresses(hostname: string, port: number): Promise<Found[]> {
    const usable: Found[] = []
    let refusal = `${hostname} has no address`
    for (const found of await addressesOf(hostname)) {
      const target = { hostname, address: found.address, port }
      let verdict = this.#check(target)
      if (verdict.isAllowed && !verdict.isListed && (await this.#isDeliveredHere(found.address))) verdict = machineRefusal(target)
      if (verdict.isAllowed) usable.push(found)
      else refusal = verdict.reason
    }
    if (usable.length === 0) throw new RenderError('RENDER_FETCH_REFUSED', refusal)
    return usable
  }

  /** Asks the kernel: it delivers more addresses to this machine than its interfaces show. */
  async #isDeliveredHere(address: string): Promise<boolean> {
    return (await isLocalAddress(address)) || (await this.#routed.includes(address))
  }

  #check(target: EgressTarget) {
    return checkEgress(target, this.#rules, (address) => this.#machine.includes(address))
  }
}

/**
 * A connector for undici that connects to exactly the addresses it has checked: there is no second look-up between the
 * check and the connection.
 */
export function checkedConnector(guard: EgressGuard, timeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    const hostname = options.hostname.replace(/^\[|\]$/g, '').toLowerCase()
    const port = portOf(options)
    guard.allowedAddresses(hostname, port).then(
      (addresses) => {
        const connect = buildConnector({
          timeout: timeoutMs,
          autoSelectFamily: true,
          maxCachedSessions: 0,
          lookup: (_name, lookupOptions, done) => {
            const [first] = addresses
            if (lookupOptions.all === true) done(null, addresses)
            else done(null, first?.address ?? '', first?.family ?? 0)
          },
        })
        connect({ ...options, hostname }, callback)
      },
      (error: Error) => callback(error, null),
    )
  }
}
