import type { HeaderList, ParsedTarget } from '@svc/http'
import type { ReadyRequest } from './ready-responses.ts'
import type { RequestGate } from './request-gate.ts'

const noTarget: ParsedTarget = { rawPath: '', path: '', query: '' }

/** The request in a gate as a `ReadyRequest`; one for each gate, so that a query allocates nothing. `Peer` tells the address. */
export class GateRequest<Peer> implements ReadyRequest {
  readonly #gate: RequestGate
  readonly #addressOf: (peer: Peer) => string
  #peer: Peer | undefined
  readonly scheme: 'http' | 'https'
  readonly listener: string
  method = ''
  target = ''

  constructor(gate: RequestGate, addressOf: (peer: Peer) => string, scheme: 'http' | 'https', listener: string) {
    this.#gate = gate
    this.#addressOf = addressOf
    this.scheme = scheme
    this.listener = listener
  }

  /** Sets the request that has passed the gate. False: only the pipeline can answer it. The engine itself must check if the connection closes. */
  open(method: string, target: string, peer: Peer): boolean {
    if ((method !== 'GET' && method !== 'HEAD') || !this.#gate.declaresNoBody) return false
    this.method = method
    this.target = target
    this.#peer = peer
    return true
  }

  get parsed(): ParsedTarget {
    return this.#gate.parsed ?? noTarget
  }

  get host(): string {
    return this.#gate.host
  }

  get acceptEncoding(): string | undefined {
    return this.#gate.acceptEncoding
  }

  get ifNoneMatch(): string | undefined {
    return this.#gate.ifNoneMatch
  }

  get hasCookie(): boolean {
    return this.#gate.hasCookie
  }

  get isSpecial(): boolean {
    return this.#gate.isSpecial
  }

  field(name: string): string | undefined {
    return this.#gate.field(name)
  }

  fieldList(): HeaderList {
    return this.#gate.fieldList()
  }

  remoteAddress(): string {
    return this.#peer === undefined ? '' : this.#addressOf(this.#peer)
  }
}
