import type { HeaderList, HttpRequest, ParsedTarget } from '@svc/http'
import { isAscii } from './response-head.ts'

/** Returns the address of the peer; called at most once for a request. */
export interface PeerSource {
  remoteAddress(): string
}

/** Fields as pairs, built on first use. Consecutive requests with equal fields share them. */
export interface SharedPairs {
  pairs: HeaderList | undefined
}

/** The data that an engine copied out of its own request object. */
interface RequestParts {
  readonly method: string
  readonly target: string
  readonly parsed: ParsedTarget
  readonly host: string
  /** Names and values in turn. Values may still be decoded as UTF-8. */
  readonly fields: readonly string[]
  /** True if `fields` values were decoded as UTF-8 and have to be read back as latin-1. */
  readonly areUtf8: boolean
  /** Belongs to `fields`. */
  readonly shared: SharedPairs
  readonly listener: string
  /** @default "http" */
  readonly scheme?: 'http' | 'https'
  /** @default "1.1" */
  readonly httpVersion?: HttpRequest['httpVersion']
  /** See `HttpRequest`. */
  readonly serverName?: string | undefined
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
  readonly #fields: readonly string[]
  readonly #areUtf8: boolean
  readonly #peer: PeerSource
  readonly #shared: SharedPairs
  #remoteAddress: string | undefined

  constructor(parts: RequestParts, peer: PeerSource) {
    this.method = parts.method
    this.target = parts.target
    this.rawPath = parts.parsed.rawPath
    this.query = parts.parsed.query
    this.path = parts.parsed.path
    this.host = parts.host
    this.listener = parts.listener
    this.scheme = parts.scheme ?? 'http'
    this.httpVersion = parts.httpVersion ?? '1.1'
    this.serverName = parts.serverName
    this.#fields = parts.fields
    this.#shared = parts.shared
    this.#areUtf8 = parts.areUtf8
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
