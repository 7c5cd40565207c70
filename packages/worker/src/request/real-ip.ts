import { CidrSet, type ClientInfo, type HeaderList, nodeAddress } from '@svc/http'
import type { RealIpSpec } from '@svc/vhosts'

/**
 * Finds the client behind the proxies of `set_real_ip_from`, as nginx's module realip does: the last address in the field of a
 * trusted peer; with `real_ip_recursive` the last one that is no proxy.
 */
export class RealIp {
  readonly #proxies: CidrSet
  readonly #trustsSockets: boolean
  readonly #field: string
  readonly #isRecursive: boolean

  constructor({ from, field, isRecursive }: RealIpSpec) {
    this.#proxies = new CidrSet(from.filter((source) => source !== 'unix:'))
    this.#trustsSockets = from.includes('unix:')
    this.#field = field
    this.#isRecursive = isRecursive
  }

  /** @returns the client's address; undefined: the peer is no proxy, or names no address */
  addressOf(peer: string, headers: HeaderList): string | undefined {
    if (!this.#isProxy(peer)) return undefined
    let found: string | undefined
    for (const text of this.#addresses(headers)) {
      const address = nodeAddress(text)
      if (address === undefined) return found
      found = address
      if (!this.#isRecursive || !this.#isProxy(address)) return found
    }
    return found
  }

  /** The client of a request whose peer is known. @returns the same object where the peer is the client */
  clientOf(client: ClientInfo, headers: HeaderList): ClientInfo {
    const address = this.addressOf(client.address, headers)
    if (address === undefined) return client
    const { scheme, host, isPeerTrusted } = client
    return { address, scheme, host, isPeerTrusted }
  }

  #isProxy(address: string): boolean {
    return address === '' ? this.#trustsSockets : this.#proxies.contains(address)
  }

  /** From the last to the first. Of any field but X-Forwarded-For the first line counts. */
  #addresses(headers: HeaderList): string[] {
    const lines = headers.filter(([name]) => name === this.#field).map(([, value]) => value)
    const values = this.#field === 'x-forwarded-for' ? lines : lines.slice(0, 1)
    const texts = values.flatMap((value) => value.split(/[ ,]+/).filter((text) => text !== ''))
    return texts.reverse()
  }
}
