import { parseHost } from '../address/host.ts'
import { type CidrSet, canonicalAddress } from '../address/ip.ts'
import { splitOutsideQuotes, splitPair } from '../syntax/quoted-list.ts'
import type { HeaderList, HttpRequest } from './http-exchange.ts'

/** The client and its request, as far as trusted proxies vouch for them. */
export interface ClientInfo {
  /** Canonical address of the client; "" when the connection has none (a unix socket). */
  readonly address: string
  readonly scheme: 'http' | 'https'
  /** Host as the client named it, lower case, with port. */
  readonly host: string
  /** True if the peer is a trusted proxy. */
  readonly isPeerTrusted: boolean
}

/** One hop that a proxy wrote down: who asked it, how, and for which host. */
interface Hop {
  readonly for: string | undefined
  readonly proto: string | undefined
  readonly host: string | undefined
}

type Connection = Pick<HttpRequest, 'remoteAddress' | 'scheme' | 'host' | 'headers'>

/**
 * Finds the client behind trusted proxies: the rightmost address in `Forwarded` (RFC 7239), or without that field in
 * `X-Forwarded-For`, that is not itself trusted. From a peer that is not trusted nothing is believed. Scheme and host come
 * from the same hop, or from a trusted one nearer to us that names them. An address that is hidden or garbled ends the search
 * at the last trusted one. A trusted proxy must remove or rewrite the fields it does not fill in itself: a `Forwarded` that it
 * passes on is believed.
 */
export function clientOf(request: Connection, trusted: CidrSet): ClientInfo {
  if (trusted.isEmpty) return new DirectClient(request)
  const { remoteAddress: address, scheme, host } = request
  if (!trusted.contains(address)) return { address, scheme, host, isPeerTrusted: false }
  const hops = hopsOf(request.headers)
  let client = address
  let found = { scheme, host }
  for (let i = hops.length - 1; i >= 0; i--) {
    const hop = hops[i]
    if (hop === undefined) break
    const next = hop.for === undefined ? undefined : readNode(hop.for)?.address
    found = { scheme: schemeOf(hop.proto) ?? found.scheme, host: hostOf(hop.host) ?? found.host }
    if (next === undefined) break
    client = next
    if (!trusted.contains(next)) break
  }
  return { address: client, ...found, isPeerTrusted: true }
}

/** The peer itself, where no proxy is trusted. Its address costs a system call and is read on demand. */
class DirectClient implements ClientInfo {
  readonly #connection: Connection
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly isPeerTrusted = false

  constructor(connection: Connection) {
    this.#connection = connection
    this.scheme = connection.scheme
    this.host = connection.host
  }

  get address(): string {
    return this.#connection.remoteAddress
  }
}

/** Hops in the order of the request's way: the last one was written by our peer. */
function hopsOf(headers: HeaderList): readonly Hop[] {
  const forwarded = elementsOf(headers, 'forwarded', splitElements)
  return forwarded.length > 0 ? forwarded.map(parseElement) : legacyHops(headers)
}

function parseElement(element: string): Hop {
  const pairs = new Map(splitOutsideQuotes(element, ';').map(splitPair))
  return { for: pairs.get('for'), proto: pairs.get('proto'), host: pairs.get('host') }
}

/**
 * `X-Forwarded-Proto` and `-Host` belong hop by hop to the addresses if they are as many; else only the last value is sure to
 * come from our peer, and holds for all.
 */
function legacyHops(headers: HeaderList): readonly Hop[] {
  const addresses = elementsOf(headers, 'x-forwarded-for', splitPlain)
  const protos = elementsOf(headers, 'x-forwarded-proto', splitPlain)
  const hosts = elementsOf(headers, 'x-forwarded-host', splitPlain)
  if (addresses.length === 0) return [{ for: undefined, proto: protos.at(-1), host: hosts.at(-1) }]
  const pick = (values: readonly string[], index: number) => (values.length === addresses.length ? values[index] : values.at(-1))
  return addresses.map((address, index) => ({ for: address, proto: pick(protos, index), host: pick(hosts, index) }))
}

function elementsOf(headers: HeaderList, name: string, split: (value: string) => string[]): string[] {
  const values = headers.filter((header) => header[0] === name)
  return values.flatMap(([, value]) => split(value))
}

/** True if every quoted string in a text has an end. */
const closedQuotes = /^[^"]*(?:"(?:[^"\\]|\\.)*"[^"]*)*$/

/** A quote that a client leaves open must not hide what the proxies behind it have added. */
function splitElements(value: string): string[] {
  return closedQuotes.test(value) ? splitOutsideQuotes(value, ',') : splitPlain(value)
}

/** The fields that no standard describes know no quotes. */
function splitPlain(value: string): string[] {
  const elements = value.split(',').map((element) => element.trim())
  return elements.filter((element) => element !== '')
}

/** Address and port of a node: IPv4 or IPv6, with brackets and port or without (RFC 7239 section 6). */
export function readNode(node: string): NamedNode | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(node) ?? []
  const address = canonicalAddress(bracketed ?? plain ?? node)
  return address === undefined ? undefined : { address, port: digits === undefined ? undefined : Number(digits) }
}

interface NamedNode {
  readonly address: string
  readonly port: number | undefined
}

function schemeOf(proto: string | undefined): 'http' | 'https' | undefined {
  const lower = proto?.toLowerCase()
  return lower === 'http' || lower === 'https' ? lower : undefined
}

function hostOf(host: string | undefined): string | undefined {
  return host === undefined || parseHost(host) === 'bad_host' ? undefined : host.toLowerCase()
}

const trustedOnlyNames: ReadonlySet<string> = new Set(['forwarded', 'x-real-ip', 'x-original-url', 'x-rewrite-url'])
const trustedOnlyPrefixes = ['x-forwarded-', 'x-svc-', 'x-middleware-', 'x-nextjs-'] as const

/** Returns true if a field (lower-case name) speaks for a proxy or for this server, and is believed only from a trusted peer. */
export function isTrustedOnlyField(name: string): boolean {
  return trustedOnlyNames.has(name) || (name.startsWith('x-') && trustedOnlyPrefixes.some((prefix) => name.startsWith(prefix)))
}
