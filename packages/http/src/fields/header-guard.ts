import { isDigits, isFieldValue, isToken } from '../syntax/characters.ts'

/** Why a request is refused before anything else looks at it. */
export interface RequestFault {
  readonly status: 400 | 501
  readonly code:
    | 'bad_method'
    | 'bad_header_name'
    | 'bad_header_value'
    | 'duplicate_host'
    | 'duplicate_content_length'
    | 'bad_content_length'
    | 'duplicate_transfer_encoding'
    | 'bad_transfer_encoding'
    | 'unsupported_transfer_encoding'
    | 'ambiguous_length'
}

/** Something that shows each field of a request once, in order, like the requests of uWebSockets.js. */
export interface FieldSource {
  forEach(visit: (name: string, value: string) => void): void
}

const faults = {
  method: { status: 400, code: 'bad_method' },
  name: { status: 400, code: 'bad_header_name' },
  value: { status: 400, code: 'bad_header_value' },
  hosts: { status: 400, code: 'duplicate_host' },
  lengths: { status: 400, code: 'duplicate_content_length' },
  length: { status: 400, code: 'bad_content_length' },
  encodings: { status: 400, code: 'duplicate_transfer_encoding' },
  encoding: { status: 400, code: 'bad_transfer_encoding' },
  unsupported: { status: 501, code: 'unsupported_transfer_encoding' },
  both: { status: 400, code: 'ambiguous_length' },
} as const satisfies Record<string, RequestFault>

/** More digits than any body has; keeps the value an exact integer. */
const MAX_LENGTH_DIGITS = 15

/**
 * Finds what would let two parsers disagree about where a request ends, or where it goes (RFC 9112 sections 3.2, 6.1, 6.3
 * and 11.2). Made once and used for every request of a thread, one at a time: `begin`, `field` for each, `end`. Allocates
 * nothing for a good request.
 */
export class HeaderGuard {
  #fault: RequestFault | undefined
  /** The only Host field so far, as sent; undefined when there was none. */
  host: string | undefined
  /** Declared length of the body in bytes; undefined when there is no Content-Length. */
  contentLength: number | undefined
  /** True if the body comes in chunks. */
  isChunked = false

  /** Forgets the request before. */
  begin(method: string): void {
    this.host = undefined
    this.contentLength = undefined
    this.isChunked = false
    this.#fault = isToken(method) ? undefined : faults.method
  }

  /** Looks at one field; `name` in lower case. The first fault found is kept. */
  field(name: string, value: string): void {
    const fault = this.#check(name, value)
    if (fault !== undefined) this.#fault ??= fault
  }

  /** Looks at a field whose name and value have been found to be well formed before: only at what it means for the request. */
  goodField(name: string, value: string): void {
    const fault = this.#checkMeaning(name, value)
    if (fault !== undefined) this.#fault ??= fault
  }

  /** Ends the request: its fault, or undefined for a good one. */
  end(): RequestFault | undefined {
    if (this.isChunked && this.contentLength !== undefined) this.#fault ??= faults.both
    return this.#fault
  }

  #check(name: string, value: string): RequestFault | undefined {
    if (!isToken(name)) return faults.name
    if (!isFieldValue(value)) return faults.value
    return this.#checkMeaning(name, value)
  }

  #checkMeaning(name: string, value: string): RequestFault | undefined {
    switch (name) {
      case 'host':
        return this.#checkHost(value)
      case 'content-length':
        return this.#checkContentLength(value)
      case 'transfer-encoding':
        return this.#checkTransferEncoding(value)
      default:
        return undefined
    }
  }

  #checkHost(value: string): RequestFault | undefined {
    if (this.host !== undefined) return faults.hosts
    this.host = value
    return undefined
  }

  #checkContentLength(value: string): RequestFault | undefined {
    if (this.contentLength !== undefined) return faults.lengths
    this.contentLength = 0
    if (value.length > MAX_LENGTH_DIGITS || !isDigits(value)) return faults.length
    this.contentLength = Number(value)
    return undefined
  }

  #checkTransferEncoding(value: string): RequestFault | undefined {
    if (this.isChunked) return faults.encodings
    this.isChunked = true
    if (value === 'chunked' || value.toLowerCase() === 'chunked') return undefined
    return isToken(value) ? faults.unsupported : faults.encoding
  }
}
