import { type ProxyAddress, proxyAddress } from '@svc/cache'

/** Past so many all are forgotten. */
const MAX_KNOWN = 512
/** Longer targets are not remembered. */
const MAX_TARGET_CHARS = 1024

/** The inputs of the cache address of a response. */
export interface Addressed {
  readonly scheme: 'http' | 'https'
  /** As the client named it. */
  readonly clientHost: string
  /** Target of the request. */
  readonly host: string
  readonly path: string
  readonly query: string
  /** As the client wrote it. */
  readonly target: string
  /** As it is sent on. */
  readonly sent: string
  readonly label: string
  readonly zone: string
  /** Names the upstream. */
  readonly place: string
  /** `..._cache_key` with its values; absent: the query and the target are the key. */
  readonly key?: string
}

interface Known {
  readonly question: Addressed
  readonly address: ProxyAddress
}

/** Remembers cache addresses, so that the texts of a frequent request are not concatenated and hashed each time. */
export class KnownAddresses {
  readonly #known = new Map<string, Known>()

  /** Undefined: no layer may store what is there. */
  of(question: Addressed): ProxyAddress | undefined {
    const { target } = question
    const known = this.#known.get(target)
    if (known !== undefined && isSame(known.question, question)) return known.address
    const address = addressOf(question)
    if (address !== undefined && target.length <= MAX_TARGET_CHARS) {
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.set(target, { question, address })
    }
    return address
  }
}

function isSame(one: Addressed, other: Addressed): boolean {
  return (
    one.scheme === other.scheme &&
    one.clientHost === other.clientHost &&
    one.host === other.host &&
    one.path === other.path &&
    one.query === other.query &&
    one.sent === other.sent &&
    one.label === other.label &&
    one.zone === other.zone &&
    one.place === other.place &&
    one.key === other.key
  )
}

function addressOf({
  scheme,
  clientHost,
  host,
  path,
  query,
  target,
  sent,
  label,
  zone,
  place,
  key,
}: Addressed): ProxyAddress | undefined {
  // The path and the host stay a part of it, so that purges find the entry; and the upstream, which a client may have chosen.
  if (key !== undefined) return proxyAddress({ scheme, host: clientHost, path, query: '', label, via: ['key', zone, place, key] })
  const plain = query === '' ? path : `${path}?${query}`
  // If the request is forwarded with another target or for another host, its response is another one. Upstreams are
  // told of path and host as the client wrote them too ($request_uri, $http_host): no odd spelling of them is stored for the plain one.
  const via = [zone, place, sent === plain ? '' : sent, target === plain ? '' : target, clientHost]
  if (host !== clientHost) via.push(host)
  return proxyAddress({ scheme, host: clientHost, path, query, label, via })
}
