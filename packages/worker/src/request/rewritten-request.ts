import type { HeaderList, HttpRequest } from '@svc/http'

/** The target of a rewritten request. */
export interface RewrittenTarget {
  /** Path as it would be sent: encoded. */
  readonly rawPath: string
  /** The same, normalised. */
  readonly path: string
  readonly query: string
  /** @default that of the request */
  readonly method?: string
}

/** A request as those see it that come after a rewrite. */
export class RewrittenRequest implements HttpRequest {
  readonly method: string
  readonly target: string
  readonly rawPath: string
  readonly path: string
  readonly query: string
  readonly #request: HttpRequest

  constructor(request: HttpRequest, { rawPath, path, query, method = request.method }: RewrittenTarget) {
    this.#request = request
    this.method = method
    this.rawPath = rawPath
    this.path = path
    this.query = query
    this.target = query === '' ? rawPath : `${rawPath}?${query}`
  }

  get scheme(): HttpRequest['scheme'] {
    return this.#request.scheme
  }

  get host(): string {
    return this.#request.host
  }

  get httpVersion(): HttpRequest['httpVersion'] {
    return this.#request.httpVersion
  }

  get remoteAddress(): string {
    return this.#request.remoteAddress
  }

  get listener(): string {
    return this.#request.listener
  }

  get headers(): HeaderList {
    return this.#request.headers
  }

  get serverName(): string | undefined {
    return this.#request.serverName
  }

  header(name: string): string | undefined {
    return this.#request.header(name)
  }
}
