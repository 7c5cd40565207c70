import type { TestContext } from 'node:test'
import type { HttpExchange } from '@svc/http'

/** A request of the suite. */
export interface ContractRequest {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | readonly Uint8Array[]
  /** The client goes away when the first byte of the response body has come. */
  readonly leaveAtFirstChunk?: boolean
  /** The client goes away at once, whatever has come. */
  readonly signal?: AbortSignal
  /** The client reads slowly, so that writers have to wait. */
  readonly isSlow?: boolean
}

/** Response as the client received it. */
export interface ContractResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  readonly aborted: boolean
}

/** An engine under test that hands its requests to `handler`. */
export interface ContractSubject {
  readonly problems: Error[]
  send(request: ContractRequest): Promise<ContractResponse>
}

/** Starts the engine for one test. */
export type StartSubject = (
  t: TestContext,
  handler: (exchange: HttpExchange) => void,
  limits?: { maxBodyBytes?: number; requestTimeoutMs?: number },
) => Promise<ContractSubject>

/** Differences between the protocols of an engine. */
export interface ContractFacts {
  readonly scheme: 'http' | 'https'
  readonly httpVersion: '1.1' | '2'
  /** True if a request can decide about its connection. */
  readonly hasConnectionFields: boolean
}

export const plainHttp1: ContractFacts = { scheme: 'http', httpVersion: '1.1', hasConnectionFields: true }
