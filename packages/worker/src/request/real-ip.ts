import { CidrSet, type ClientInfo, type ConnectionFacts, type HeaderList, readNode } from '@svc/http'
import { PROXY_PROTOCOL, type RealIpSpec } from '@svc/vhosts'

/** A request as far as it names its client. */
interface NamedClient {
  readonly headers: HeaderList
  readonly proxied: ConnectionFacts['proxied']
}

/** A client that a proxy names. */
interface FoundClient {
  readonly address: string
  /** Undefined: the proxy names none. */
  readonly port: number | undefined
}

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

  /** @returns undefined: the peer is no proxy, or names no address */
  find(peer: string, request: NamedClient): FoundClient | undefined {
    if (!this.#isProxy(peer)) return undefined
    if (this.#field === PROXY_PROTOCOL) return request.proxied === 'unnamed' ? undefined : request.proxied
    let found: FoundClient | undefined
    for (const text of this.#nodes(request.headers)) {
      const node = readNode(text)
      if (node === undefined) return found
      found = node
      if (!this.#isRecursive || !this.#isProxy(node.address)) return found
    }
    return found
  }

  /** The client of a request whose peer is known. @returns the same object where the peer is the client */
  clientOf(client: ClientInfo, request: NamedClient): ClientInfo {
    const found = this.find(client.address, request)
    if (found === undefined) return client
    const { scheme, host, isPeerTrusted } = client
    return { address: found.address, scheme, host, isPeerTrusted }
  }

  #isProxy(address: string): boolean {
    return address === '' ? this.#trustsSockets : this.#proxies.contains(address)
  }

  /** From the last to the first. Of any field but X-Forwarded-For the first line counts. */
  #nodes(headers: HeaderList): string[] {
    const lines = headers.filter(([name]) => name === this.#field).map(([, value]) => value)
    const values = this.#field === 'x-forwarded-for' ? lines : lines.slice(0, 1)
    const texts = values.flatMap((value) => value.split(/[ ,]+/).filter((text) => text !== ''))
    return texts.reverse()
  }
}
