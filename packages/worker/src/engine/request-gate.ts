import { type FieldSource, HeaderGuard, type ParsedTarget, parseHost, parseTarget } from '@svc/http'

/** Why a request is not let in. */
export interface GateFault {
  readonly status: number
  readonly code: string
}

/** How many Host values are remembered as good ones. */
const MAX_KNOWN_HOSTS = 1024

/**
 * Checks each request before anything else sees it and copies its fields. One per thread, for one request at a time: after
 * `enter` its properties describe that request until the next call. Allocates only what the request keeps.
 */
export class RequestGate {
  readonly #guard = new HeaderGuard()
  /** Host field as sent to its lower-case form: sites are few, requests are many. */
  readonly #knownHosts = new Map<string, string>()
  /** Names and values in turn. */
  fields: string[] = []
  parsed: ParsedTarget | undefined
  host = ''
  /** Whether the client asks for the connection to be closed after the response. */
  wantsClose = false

  readonly #visit = (name: string, value: string): void => {
    this.#guard.field(name, value)
    this.fields.push(name, value)
    if (name === 'connection') this.wantsClose ||= hasCloseOption(value)
  }

  get contentLength(): number | undefined {
    return this.#guard.contentLength
  }

  get isChunked(): boolean {
    return this.#guard.isChunked
  }

  /** Looks at a whole request; undefined when it is good. */
  enter(method: string, target: string, source: FieldSource): GateFault | undefined {
    this.fields = []
    this.wantsClose = false
    this.#guard.begin(method)
    source.forEach(this.#visit)
    return this.#guard.end() ?? this.#checkTarget(target) ?? this.#checkHost()
  }

  #checkTarget(target: string): GateFault | undefined {
    const parsed = parseTarget(target)
    if (typeof parsed === 'string') return { status: 400, code: parsed }
    this.parsed = parsed
    return undefined
  }

  #checkHost(): GateFault | undefined {
    const sent = this.#guard.host
    if (sent === undefined) return { status: 400, code: 'missing_host' }
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

/** Whether a Connection field names the `close` option (RFC 9112 section 9.6). */
function hasCloseOption(value: string): boolean {
  if (value === 'keep-alive') return false
  return value.split(',').some((option) => option.trim().toLowerCase() === 'close')
}
