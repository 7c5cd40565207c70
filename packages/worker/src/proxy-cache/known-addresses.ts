import { type ProxyAddress, proxyAddress } from '@svc/cache'

/** Past so many all are forgotten. */
const MAX_KNOWN = 512
/** Longer targets are not remembered. */
const MAX_TARGET_CHARS = 1024

/** What decides where the answer to a request lies. */
export interface Addressed {
  readonly scheme: 'http' | 'https'
  /** As the client named it. */
  readonly clientHost: string
  /** What the request is for. */
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
}

interface Known {
  readonly question: Addressed
  readonly address: ProxyAddress
}

/** Where answers lie: what is asked for again and again has the same address, whose texts are not put together, and hashed, each time. */
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
    one.place === other.place
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
}: Addressed): ProxyAddress | undefined {
  const asked = query === '' ? path : `${path}?${query}`
  // Where the request goes on as something else than what was asked for, or for another host, its answer is another. Upstreams are
  // told of path and host as the client wrote them too ($request_uri, $http_host): no odd spelling of them is stored for the plain one.
  const via = [zone, place, sent === asked ? '' : sent, target === asked ? '' : target, clientHost]
  if (host !== clientHost) via.push(host)
  return proxyAddress({ scheme, host: clientHost, path, query, label, via })
}
