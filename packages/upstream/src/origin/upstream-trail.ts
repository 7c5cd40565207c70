import type { UpstreamError } from '../errors/errors.ts'

const BAD_GATEWAY = 502
const GATEWAY_TIMEOUT = 504

/** One attempt to get a response. Times are milliseconds since its beginning; undefined: it did not come that far. */
export interface UpstreamAttempt {
  /** Address of the server, or the name of a group that has none in service. */
  readonly address: string
  readonly status: number | undefined
  readonly connectMs: number | undefined
  readonly headerMs: number | undefined
  readonly responseMs: number | undefined
  /** Of the body. */
  readonly bytes: number
  /** True if a request to another upstream follows: the one before led to its location. */
  readonly endsRequest: boolean
}

type Open = { -readonly [Key in keyof UpstreamAttempt]: UpstreamAttempt[Key] } & { readonly startedAt: number }

/** The attempts of one client's request, in their order. Owned by the request; its calls to upstreams come one after the other. */
export class UpstreamTrail {
  readonly #attempts: Open[] = []

  get attempts(): readonly UpstreamAttempt[] {
    return this.#attempts
  }

  /** A request to an upstream begins. */
  enter(): void {
    const last = this.#attempts.at(-1)
    if (last !== undefined) last.endsRequest = true
  }

  /** A server is tried. */
  tries(address: string): void {
    this.#attempts.push({
      ...{ address, startedAt: performance.now(), bytes: 0, endsRequest: false },
      ...{ status: undefined, connectMs: undefined, headerMs: undefined, responseMs: undefined },
    })
  }

  connected(): void {
    const last = this.#attempts.at(-1)
    if (last !== undefined) last.connectMs = since(last)
  }

  answered(status: number): void {
    const last = this.#attempts.at(-1)
    if (last === undefined) return
    last.status = status
    last.headerMs = since(last)
  }

  received(bytes: number): void {
    const last = this.#attempts.at(-1)
    if (last !== undefined) last.bytes += bytes
  }

  /** The attempt is over: with a response, or because the client has left. */
  ended(): void {
    const last = this.#attempts.at(-1)
    if (last !== undefined) last.responseMs ??= since(last)
  }

  /** The attempt has failed. `server`: names a group of which no server was tried. */
  failed({ code }: Pick<UpstreamError, 'code'>, server?: string): void {
    if (server !== undefined) this.tries(server)
    const last = this.#attempts.at(-1)
    if (last === undefined || last.responseMs !== undefined) return
    last.status = code === 'UPSTREAM_TIMEOUT' ? GATEWAY_TIMEOUT : BAD_GATEWAY
    last.headerMs = undefined
    last.responseMs = since(last)
  }
}

function since({ startedAt }: Open): number {
  return performance.now() - startedAt
}
