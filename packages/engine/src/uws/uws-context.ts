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

/** Of so many addresses from memory, one is compared with that of the connection. */
const CHECKED_OF = 256

/**
 * The address of all open connections of a listener, as long as they have the same one: behind a load balancer, or in a test of speed.
 * Reading the address of a connection costs a system call and memory, and more than the rest of a response from L0.
 */
export class SolePeer {
  readonly #peers: PeerAddresses
  #open = 0
  #last = ''
  #isMixed = false
  #untilChecked = CHECKED_OF

  constructor(peers: PeerAddresses) {
    this.#peers = peers
  }

  /** The address of the peer of a response: from memory, if all have the same one. */
  addressOf(res: HttpResponse): string {
    if (this.#isMixed || this.#open <= 0) return this.#peers.read(res)
    if (this.#untilChecked-- > 0) return this.#last
    this.#untilChecked = CHECKED_OF
    const address = this.#peers.read(res)
    // Connections were not counted right: no address from memory before all have ended.
    if (address !== this.#last) this.#isMixed = true
    return address
  }

  opened(res: HttpResponse): void {
    const address = this.#peers.read(res)
    if (this.#open++ === 0) this.#isMixed = address === ''
    else if (address !== this.#last) this.#isMixed = true
    this.#last = address
  }

  closed(): void {
    this.#open--
  }
}

/** ::ffff:0:0/96 (RFC 4291 section 2.5.5.2). */
function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false
  return bytes[10] === 0xff && bytes[11] === 0xff
}
