import type { HttpResponse } from 'uWebSockets.js'
import { type BodyStore, canonicalAddress } from '@svc/http'
import type { ExchangeContext } from '../exchange/engine-exchange.ts'
import type { HeaderBlock, HeaderBlocks } from '../exchange/response-head.ts'
import type { CloseGuard } from './closing.ts'

/** State shared by all exchanges of one engine. */
export interface UwsContext extends ExchangeContext<HeaderBlock> {
  readonly heads: HeaderBlocks
  readonly peers: PeerAddresses
  readonly bodies: BodyStore
  readonly closeGuard: CloseGuard
  /** Queried for each response without a body that could leave at once: now and then one has to wait a turn. */
  mustWait(): boolean
}

/**
 * Reads the address of the peer of a response, in canonical text form; "" when the connection is closed. Keeps the last IPv4 address:
 * requests of one connection come in a row.
 */
export class PeerAddresses {
  #lastNumber = -1
  #lastText = ''

  read(res: HttpResponse): string {
    const bytes = new Uint8Array(res.getRemoteAddress())
    if (bytes.length === 4) return this.#ipv4(bytes, 0)
    if (bytes.length !== 16) return ''
    if (isMapped(bytes)) return this.#ipv4(bytes, 12)
    return canonicalAddress(Buffer.from(res.getRemoteAddressAsText()).toString('latin1')) ?? ''
  }

  #ipv4(bytes: Uint8Array, offset: number): string {
    const [a = 0, b = 0, c = 0, d = 0] = offset === 0 ? bytes : bytes.subarray(offset)
    const number = a * 0x1000000 + b * 0x10000 + c * 0x100 + d
    if (number !== this.#lastNumber) {
      this.#lastNumber = number
      this.#lastText = `${a}.${b}.${c}.${d}`
    }
    return this.#lastText
  }
}

/**
 * The address of all open connections of a listener, as long as they have the same one: behind a load balancer, or in a test of speed. It
 * saves the system call that reading the address of a request costs.
 */
export class SolePeer {
  #open = 0
  #last = ''
  #isMixed = false

  opened(address: string): void {
    if (this.#open++ === 0) this.#isMixed = address === ''
    else if (address !== this.#last) this.#isMixed = true
    this.#last = address
  }

  closed(): void {
    this.#open--
  }

  /** Undefined: there are several, or one could not be read. */
  get address(): string | undefined {
    return this.#isMixed || this.#open <= 0 ? undefined : this.#last
  }
}

/** ::ffff:0:0/96 (RFC 4291 section 2.5.5.2). */
function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false
  return bytes[10] === 0xff && bytes[11] === 0xff
}
