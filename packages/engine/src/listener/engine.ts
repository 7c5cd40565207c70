import type { HttpExchange, ListenAddress, ListenerTls } from '@svc/http'
import type { EngineLimits, Refusal } from '../exchange/exchange-watch.ts'
import type { ReadyResponses } from '../exchange/ready-responses.ts'

/** Callbacks of an engine. None of these may be slow; errors that they throw are reported to `onProblem` and answered with 500. */
export interface EngineOptions {
  /** Queried for each plain read before an exchange is made for it. */
  readonly ready?: ReadyResponses
  /** Takes one request; must see to it that it is answered some time. */
  onExchange(exchange: HttpExchange): void
  limits(): EngineLimits
  /** The limit for the body of a request in place of `maxBodyBytes`, which its handler applies to the declared length. @default none */
  bodyLimitOf?(method: string, path: string): number | undefined
  /**
   * Directory for bodies of requests that come faster than they are taken and cannot be slowed down; made when it is needed. Engine
   * node can slow all of them down.
   */
  bodyDir(): string
  /** True if a peer (canonical address) is a proxy of ours that shares connections among clients. */
  isTrustedProxy(address: string): boolean
  /** Called for faults of this program and for response fields that had to be dropped. */
  onProblem(error: Error): void
  /** Called for each request that the engine answered by itself: malformed, too large, too late. */
  onRefused?(refusal: Refusal): void
}

/**
 * Takes connections and turns requests into exchanges. Made once per worker process and closed by `drain` or `cut`; both are
 * final. Not for concurrent `listen` calls with one name.
 */
export interface Engine {
  /**
   * Starts to listen on an address. Port 0 picks a free one.
   * @returns the port that is bound
   * @throws ENGINE_ADDRESS_IN_USE, ENGINE_BAD_ADDRESS, ENGINE_ADDRESS_DENIED, ENGINE_BAD_CERTIFICATE, ENGINE_CLOSED
   */
  listen(address: ListenAddress): Promise<number>
  /**
   * Readies the certificates of the address of this name, before or while it is listened on. Calling the returned function puts them in
   * force: new connections get them, those that are open keep theirs. Has to be in force before `listen` of an address that speaks TLS;
   * forgotten with `unlisten`.
   * @throws ENGINE_BAD_CERTIFICATE and changes nothing
   */
  prepareTls(name: string, tls: ListenerTls): () => void
  /** How often certificates in use have been replaced by others. */
  readonly tlsRebuilds: number
  /** Memory in bytes, about, that does not come back before the process ends: with engine uws certificates leave some behind. */
  readonly lostBytes: number
  /** Stops accepting on an address by its name; its connections live on. An unknown name is no error. */
  unlisten(name: string): void
  /** Open connections, idle ones included. */
  readonly connections: number
  /** Connections opened so far. */
  readonly accepted: number
  /** Requests whose response is not yet written. */
  readonly inFlight: number
  /**
   * Stops accepting, lets requests in flight end and closes idle connections. After `timeoutMs` the rest is cut and counted.
   * Concurrent callers share one drain.
   */
  drain(timeoutMs: number): Promise<{ cut: number }>
  /** Cuts every connection at once. */
  cut(): void
}
