import type { ConnectionFacts, HeaderList, HttpRequest } from '@svc/http'
import type { ReadyGate, SharedPairs } from './request-gate.ts'
import { isAscii } from './response-head.ts'

/** Returns the address of the peer; called at most once for a request. */
export interface PeerSource {
  remoteAddress(): string
}

/** A request beside its fields. */
interface RequestLine {
  readonly method: string
  readonly target: string
  /** True if values of fields were decoded as UTF-8 and have to be read back as latin-1. */
  readonly areUtf8: boolean
  /** @default "1.1" */
  readonly httpVersion?: HttpRequest['httpVersion']
  /** See `HttpRequest`. */
  readonly serverName?: string | undefined
  /** See `HttpRequest`. */
  readonly connection?: ConnectionFacts | undefined
  /** See `HttpRequest`. */
  readonly connectionPlace?: number | undefined
}

/** The request of an exchange, whatever the engine. Rarely used parts are built on first use. */
export class EngineRequest implements HttpRequest {
  readonly method: string
  readonly target: string
  readonly rawPath: string
  readonly query: string
  readonly path: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly httpVersion: HttpRequest['httpVersion']
  readonly listener: string
  readonly serverName: string | undefined
  readonly connection: ConnectionFacts | undefined
  readonly connectionPlace: number | undefined
  readonly #fields: readonly string[]
  readonly #areUtf8: boolean
  readonly #peer: PeerSource
  readonly #shared: SharedPairs
  #remoteAddress: string | undefined

  /** @param gate that the request has passed */
  constructor(gate: Omit<ReadyGate<never>, 'show'>, line: RequestLine, peer: PeerSource) {
    this.method = line.method
    this.target = line.target
    this.rawPath = gate.parsed.rawPath
    this.query = gate.parsed.query
    this.path = gate.parsed.path
    this.host = gate.host
    this.listener = gate.listener
    this.scheme = gate.scheme
    this.httpVersion = line.httpVersion ?? '1.1'
    this.serverName = line.serverName
    this.connection = line.connection
    this.connectionPlace = line.connectionPlace
    this.#fields = gate.fields
    this.#shared = gate.shared
    this.#areUtf8 = line.areUtf8
    this.#peer = peer
  }

  get remoteAddress(): string {
    this.#remoteAddress ??= this.#peer.remoteAddress()
    return this.#remoteAddress
  }

  get headers(): HeaderList {
    const shared = this.#shared
    shared.pairs ??= this.#pairs()
    return shared.pairs
  }

  header(name: string): string | undefined {
    const fields = this.#fields
    for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return this.#value(i + 1)
    return undefined
  }

  #pairs(): HeaderList {
    const pairs: Array<readonly [string, string]> = []
    for (let i = 0; i < this.#fields.length; i += 2) pairs.push([this.#fields[i] ?? '', this.#value(i + 1)])
    return pairs
  }

  #value(index: number): string {
    const value = this.#fields[index] ?? ''
    return this.#areUtf8 && !isAscii(value) ? Buffer.from(value, 'utf8').toString('latin1') : value
  }
}
