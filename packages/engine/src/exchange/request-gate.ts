import {
  type ConnectionFacts,
  type FieldSource,
  HeaderGuard,
  type HeaderList,
  type HttpRequest,
  type ParsedTarget,
  parseHost,
  parseTarget,
} from '@svc/http'
import type { ReadyRequest } from './ready-responses.ts'

/** Fields as pairs, built on first use. Consecutive requests with equal fields share them. */
export interface SharedPairs {
  pairs: HeaderList | undefined
}

/** Why a request is not let in. */
export interface GateFault {
  readonly status: number
  readonly code: string
}

/** How long bodies may be. */
interface BodyRules {
  limits(): { readonly maxBodyBytes: number }
  bodyLimitOf?(method: string, path: string): number | undefined
}

/** The longest body that a request in the gate may have. Undefined: it declares a longer one. */
export function bodyLimit(
  rules: BodyRules,
  method: string,
  { contentLength, parsed }: Pick<RequestGate, 'contentLength' | 'parsed'>,
): number | undefined {
  const { maxBodyBytes } = rules.limits()
  if ((contentLength ?? Number.POSITIVE_INFINITY) <= maxBodyBytes) return maxBodyBytes
  // A handler with a limit of its own refuses a longer length itself, after credentials and the like.
  const own = rules.bodyLimitOf?.(method, parsed.path)
  return own ?? (contentLength === undefined ? maxBodyBytes : undefined)
}

/** How many Host values are remembered as good ones. */
const MAX_KNOWN_HOSTS = 1024

/** See `ReadyRequest.isSpecial`; by the lengths that `#note` looks at. */
const specialFields: ReadonlySet<string> = new Set([
  'range',
  'upgrade',
  'if-match',
  'if-range',
  'forwarded',
  'x-forwarded-host',
  'if-modified-since',
  'x-forwarded-proto',
  'if-unmodified-since',
])

/**
 * Checks each request before anything else sees it and copies its fields. One per thread, for one request at a time: after
 * `enter` its properties describe that request until the next call. Allocates only what the request keeps.
 */
export class RequestGate {
  readonly #guard = new HeaderGuard()
  /** Host field as sent to its lower-case form: sites are few, requests are many. */
  readonly #knownHosts = new Map<string, string>()
  /** The last good one; requests of one connection come in rows. */
  #lastSentHost: string | undefined
  #lastHost = ''
  /** Names and values in turn. Shared: the next request may use the same list. */
  fields: readonly string[] = []
  /** The same object as long as `fields` is the same. */
  shared: SharedPairs = { pairs: undefined }
  parsed: ParsedTarget = { rawPath: '', path: '', query: '' }
  host = ''
  /** True if the client asks for the connection to be closed after the response. */
  wantsClose = false
  /** First value of the Connection field. */
  connection: string | undefined
  /** See `ReadyRequest`. */
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
  hasCookie = false
  isSpecial = false

  /** Of the last request, if it was good: most of those that follow in a connection say the same. */
  #goodFields: readonly string[] | undefined
  #goodMethod = ''
  #goodTarget: string | undefined
  /** True if this request says the same so far. Then all that was found out of its fields is known, and nothing is copied. */
  #isSame = false
  #place = 0
  #method = ''
  #mayLackHost = false
  #copied: string[] = []

  readonly #visit = (name: string, value: string): void => {
    const place = this.#place
    const good = this.#goodFields
    const isGood = good !== undefined && place < good.length && good[place] === name && good[place + 1] === value
    this.#place = place + 2
    if (this.#isSame) {
      if (isGood) return
      this.#differ(place)
    }
    this.#take(name, value, isGood)
  }

  get contentLength(): number | undefined {
    return this.#guard.contentLength
  }

  get isChunked(): boolean {
    return this.#guard.isChunked
  }

  /** True if the request declares no body at all. */
  get declaresNoBody(): boolean {
    return !this.#guard.isChunked && this.#guard.contentLength === undefined
  }

  /** First value of a field by lower-case name. */
  field(name: string): string | undefined {
    const { fields } = this
    for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1]
    return undefined
  }

  fieldList(): HeaderList {
    const pairs: Array<readonly [string, string]> = []
    for (let i = 0; i < this.fields.length; i += 2) pairs.push([this.fields[i] ?? '', this.fields[i + 1] ?? ''])
    return pairs
  }

  /** Looks at a whole request; undefined when it is good. @param mayLackHost as in HTTP/1.0 */
  enter(method: string, target: string, source: FieldSource, mayLackHost = false): GateFault | undefined {
    if (mayLackHost !== this.#mayLackHost) this.#goodFields = undefined
    this.#mayLackHost = mayLackHost
    this.#method = method
    this.#place = 0
    this.#isSame = true
    if (this.#goodFields === undefined || method !== this.#goodMethod) this.#differ(0)
    source.forEach(this.#visit)
    if (this.#isSame && this.#place < this.fields.length) this.#differ(this.#place)
    const fault = this.#isSame ? this.#checkTarget(target) : this.#finish(target)
    if (fault !== undefined) this.#goodFields = undefined
    return fault
  }

  /** Restarts with a copy of the equal part: `length` names and values. */
  #differ(length: number): void {
    this.#isSame = false
    this.#copied = []
    this.wantsClose = false
    this.connection = undefined
    this.acceptEncoding = undefined
    this.ifNoneMatch = undefined
    this.hasCookie = false
    this.isSpecial = false
    this.#guard.begin(this.#method)
    const good = this.#goodFields ?? []
    for (let i = 0; i < length; i += 2) this.#take(good[i] ?? '', good[i + 1] ?? '', true)
  }

  /** @param isGood true if the same was found to be well formed before */
  #take(name: string, value: string, isGood: boolean): void {
    if (isGood) this.#guard.goodField(name, value)
    else this.#guard.field(name, value)
    this.#copied.push(name, value)
    this.#note(name, value)
  }

  #finish(target: string): GateFault | undefined {
    this.fields = this.#copied
    this.shared = { pairs: undefined }
    const fault = this.#guard.end() ?? this.#checkTarget(target) ?? this.#checkHost()
    this.#goodFields = this.#copied
    this.#goodMethod = this.#method
    return fault
  }

  /** By length first: a comparison of texts of different length costs nothing. The first value of a field counts. */
  #note(name: string, value: string): void {
    switch (name.length) {
      case 6:
        if (name === 'cookie') this.hasCookie = true
        return
      case 10:
        if (name !== 'connection') return
        this.connection ??= value
        this.wantsClose ||= hasCloseOption(value)
        return
      case 15:
        if (name === 'accept-encoding') this.acceptEncoding ??= value
        return
      case 13:
        if (name === 'if-none-match') this.ifNoneMatch ??= value
        else this.isSpecial ||= name === 'authorization' || name === 'cache-control'
        return
      case 5:
      case 7:
      case 8:
      case 9:
      case 16:
      case 17:
      case 19:
        this.isSpecial ||= specialFields.has(name)
    }
  }

  #checkTarget(target: string): GateFault | undefined {
    if (target === this.#goodTarget) return undefined
    this.#goodTarget = undefined
    const parsed = parseTarget(target)
    if (typeof parsed === 'string') return { status: 400, code: parsed }
    this.parsed = parsed
    this.#goodTarget = target
    return undefined
  }

  #checkHost(): GateFault | undefined {
    const sent = this.#guard.host
    if (sent === undefined) {
      this.host = ''
      return this.#mayLackHost ? undefined : { status: 400, code: 'missing_host' }
    }
    if (sent === this.#lastSentHost) {
      this.host = this.#lastHost
      return undefined
    }
    this.#lastSentHost = sent
    const fault = this.#lookUpHost(sent)
    if (fault === undefined) this.#lastHost = this.host
    else this.#lastSentHost = undefined
    return fault
  }

  #lookUpHost(sent: string): GateFault | undefined {
    const known = this.#knownHosts.get(sent)
    if (known !== undefined) {
      this.host = known
      return undefined
    }
    if (parseHost(sent) === 'bad_host') return { status: 400, code: 'bad_host' }
    this.host = sent.toLowerCase()
    if (this.#knownHosts.size >= MAX_KNOWN_HOSTS) this.#knownHosts.clear()
    this.#knownHosts.set(sent, this.host)
    return undefined
  }
}

/** Tells the address of a peer: see `ReadyRequest`. */
interface PeerReader<Peer> {
  addressOf(peer: Peer): string
  countedAddressOf(peer: Peer): string
}

/** The gate of a listen address, which also shows the request in it as a `ReadyRequest`: a query allocates nothing. */
export class ReadyGate<Peer> extends RequestGate implements ReadyRequest {
  readonly #peers: PeerReader<Peer>
  #peer: Peer | undefined
  readonly scheme: 'http' | 'https'
  readonly listener: string
  method = ''
  target = ''
  httpVersion: HttpRequest['httpVersion'] = '1.1'
  proxied: ConnectionFacts['proxied']

  constructor(listener: string, scheme: 'http' | 'https', peers: PeerReader<Peer>) {
    super()
    this.listener = listener
    this.scheme = scheme
    this.#peers = peers
  }

  /** Shows the request that has passed. False: only the pipeline can answer it. The engine itself must check if the connection closes. */
  show(method: string, target: string, peer: Peer, httpVersion: HttpRequest['httpVersion'] = '1.1'): boolean {
    if ((method !== 'GET' && method !== 'HEAD') || !this.declaresNoBody) return false
    this.method = method
    this.target = target
    this.httpVersion = httpVersion
    this.#peer = peer
    return true
  }

  remoteAddress(): string {
    return this.#peer === undefined ? '' : this.#peers.addressOf(this.#peer)
  }

  countedAddress(): string {
    return this.#peer === undefined ? '' : this.#peers.countedAddressOf(this.#peer)
  }
}

/** True if a Connection field names the `close` option (RFC 9112 section 9.6). */
export function hasCloseOption(value: string): boolean {
  if (value === 'keep-alive') return false
  return value.split(',').some((option) => option.trim().toLowerCase() === 'close')
}
