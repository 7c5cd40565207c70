import type { FieldSource } from '@svc/http'

/** How many spellings of field names are remembered. */
const MAX_KNOWN_NAMES = 1024
/** Longer ones are no field names that come again. */
const MAX_KNOWN_NAME_CHARS = 64

/** The fields of HTTP/1 requests, one request at a time. */
export class Http1Fields implements FieldSource {
  readonly #knownNames = new Map<string, string>()
  #raw: readonly string[] = []
  #authority: string | undefined

  /**
   * Sets the request.
   * @param raw names and values in turn, as sent
   * @param authority of a target in absolute form: it stands in for the Host field (RFC 9112 section 3.2.2)
   */
  set(raw: readonly string[], authority: string | undefined): this {
    this.#raw = raw
    this.#authority = authority
    return this
  }

  forEach(visit: (name: string, value: string) => void): void {
    const raw = this.#raw
    const authority = this.#authority
    let hasHost = false
    for (let i = 0; i < raw.length; i += 2) {
      const name = this.#lowerCase(raw[i] ?? '')
      const isHost = authority !== undefined && name === 'host'
      hasHost ||= isHost
      visit(name, isHost ? authority : (raw[i + 1] ?? ''))
    }
    if (authority !== undefined && !hasHost) visit('host', authority)
  }

  #lowerCase(name: string): string {
    const known = this.#knownNames.get(name)
    if (known !== undefined) return known
    const lower = name.toLowerCase()
    if (name.length > MAX_KNOWN_NAME_CHARS) return lower
    if (this.#knownNames.size >= MAX_KNOWN_NAMES) this.#knownNames.clear()
    this.#knownNames.set(name, lower)
    return lower
  }
}

/** The values of the pseudo-header fields of an HTTP/2 request (RFC 9113 section 8.3.1). */
interface Http2Line {
  readonly method: string
  readonly target: string
}

/** The fields of HTTP/2 requests, one request at a time. */
export class Http2Fields implements FieldSource {
  #raw: readonly string[] = []
  #authority: string | undefined

  /** Sets the request. @param raw names and values in turn, pseudo-header fields included */
  set(raw: readonly string[]): Http2Line {
    this.#raw = raw
    this.#authority = undefined
    let method = ''
    let target = ''
    for (let i = 0; i < raw.length && raw[i]?.charCodeAt(0) === 0x3a; i += 2) {
      const value = raw[i + 1] ?? ''
      if (raw[i] === ':method') method = value
      else if (raw[i] === ':path') target = value
      else if (raw[i] === ':authority') this.#authority = value
    }
    return { method, target }
  }

  /** The authority comes as Host, and crumbs of a cookie as one (section 8.2.3). */
  forEach(visit: (name: string, value: string) => void): void {
    const raw = this.#raw
    let authority = this.#authority
    let cookie: string | undefined
    if (authority !== undefined) visit('host', authority)
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] ?? ''
      const value = raw[i + 1] ?? ''
      if (name.charCodeAt(0) === 0x3a) continue
      if (name === 'cookie') {
        cookie = cookie === undefined ? value : `${cookie}; ${value}`
      } else if (name === 'host' && value === authority) {
        // It says the same once more; a third or a different one is a fault.
        authority = undefined
      } else {
        visit(name, value)
      }
    }
    if (cookie !== undefined) visit('cookie', cookie)
  }
}

/** Bytes that fields take, as HTTP/1 would write them. */
export function fieldBytes(raw: readonly string[]): number {
  let bytes = 0
  for (let i = 0; i < raw.length; i++) bytes += (raw[i]?.length ?? 0) + 2
  return bytes
}
