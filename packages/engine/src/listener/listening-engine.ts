import { asError } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import {
  type EngineContext,
  type EngineLimits,
  ExchangeWatch,
  type Refusal,
  type WatchedExchange,
} from '../exchange/exchange-watch.ts'
import type { Engine, EngineOptions } from './engine.ts'

/** Counts what an engine has to do, and lets a drain wait for it to become less. */
class EngineLoad {
  /** Open connections, idle ones included. */
  connections = 0
  /** Connections that have been opened. */
  accepted = 0
  /** Requests whose response is not yet written, and open WebSockets. */
  inFlight = 0
  isClosed = false
  #onChange: (() => void) | undefined

  countConnections(change: number): void {
    this.connections += change
    if (change > 0) this.accepted += change
    if (this.connections === 0) this.#onChange?.()
  }

  countInFlight(change: number): void {
    this.inFlight += change
    if (this.inFlight === 0) this.#onChange?.()
  }

  /** Nothing is waited for any more. */
  close(): void {
    this.isClosed = true
    this.#onChange?.()
  }

  /** Waits for a condition that becomes true when the last request or the last connection ends, at most `timeoutMs`. */
  until(isReached: () => boolean, timeoutMs: number): Promise<void> {
    if (isReached() || this.isClosed || timeoutMs <= 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    this.#onChange = () => {
      if (isReached() || this.isClosed) resolve()
    }
    return promise.finally(() => {
      clearTimeout(timer)
      this.#onChange = undefined
    })
  }
}

/** The connections that a drain has to wait for, beside requests in flight. */
interface Lingering {
  /** True while a connection is so new that its first request is still to be waited for. */
  readonly hasNew: boolean
  /** How long idle connections are kept after the last request. During that time finished responses leave. */
  readonly graceMs: number
}

/**
 * Waits until all requests have ended and their connections have closed, or `timeoutMs` have passed.
 * @returns how many are left
 */
async function drained(load: EngineLoad, timeoutMs: number, lingering: () => Lingering): Promise<number> {
  const deadline = performance.now() + timeoutMs
  while (!load.isClosed && load.connections > 0) {
    await load.until(() => load.inFlight === 0, deadline - performance.now())
    if (load.inFlight > 0 && performance.now() >= deadline) break
    await load.until(() => load.connections === 0, Math.min(lingering().graceMs, deadline - performance.now()))
    if (load.inFlight === 0 && (!lingering().hasNew || performance.now() >= deadline)) break
  }
  return load.inFlight
}

/** One listen address of an engine. */
interface EngineListener<Tls> extends Lingering {
  /** Open connections, idle ones included. */
  readonly connections: number
  /** @returns the port that is bound; 0 for a unix socket */
  listen(address: ListenAddress): Promise<number>
  /** New connections get these certificates. */
  setTls(tls: Tls): void
  /** Stops accepting. */
  unlisten(): void
  /** Tells clients, if their protocol has a way, that no further requests are taken. */
  leave(): void
  /** Stops accepting and cuts all connections. */
  close(): void
}

/** The common part of all engines: listeners, their certificates, counting, draining. */
export abstract class ListeningEngine<Listener extends EngineListener<Tls>, Tls> implements Engine, EngineContext {
  protected readonly options: EngineOptions
  /** Certificates of addresses. */
  protected readonly tls = new Map<string, Tls>()
  protected readonly exchanges: ExchangeWatch
  readonly #load = new EngineLoad()
  readonly #listeners = new Map<string, Listener>()
  /** Listeners that no longer listen but still have connections. */
  readonly #leaving = new Set<Listener>()
  tlsRebuilds = 0
  #draining: Promise<{ cut: number }> | undefined

  constructor(options: EngineOptions) {
    this.options = options
    this.exchanges = new ExchangeWatch(options.limits, (error) => this.problem(error))
  }

  abstract get lostBytes(): number

  abstract prepareTls(name: string, tls: ListenerTls): () => void

  /** @param tls undefined: plain HTTP */
  protected abstract makeListener(
    address: ListenAddress,
    tls: Tls | undefined,
    onConnections: (listener: Listener, change: number) => void,
  ): Listener

  /** A listener that no longer listens has no connection any more. May be called while its last one tells that it closes. */
  protected emptied(_listener: Listener): void {
    // Most listeners hold nothing else.
  }

  get connections(): number {
    return this.#load.connections
  }

  get accepted(): number {
    return this.#load.accepted
  }

  get inFlight(): number {
    return this.#load.inFlight
  }

  get isDraining(): boolean {
    return this.#draining !== undefined
  }

  async listen(address: ListenAddress): Promise<number> {
    const { name } = address
    if (this.#load.isClosed || this.isDraining) throw new EngineError('ENGINE_CLOSED', 'the engine is closed or closing')
    if (this.#listeners.has(name)) throw new EngineError('ENGINE_ADDRESS_IN_USE', `this engine is already listening on ${name}`)
    const tls = address.isTls === true ? this.tls.get(name) : undefined
    if (address.isTls === true && tls === undefined) {
      throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name} uses TLS but has no certificate`)
    }
    const listener = this.makeListener(address, tls, (counted, change) => {
      if (counted.connections === 0 && this.#leaving.delete(counted)) this.emptied(counted)
      this.#load.countConnections(change)
    })
    const port = await listener.listen(address)
    this.#listeners.set(name, listener)
    return port
  }

  unlisten(name: string): void {
    const listener = this.#listeners.get(name)
    if (listener === undefined) return
    this.#listeners.delete(name)
    this.tls.delete(name)
    listener.unlisten()
    if (listener.connections > 0) this.#leaving.add(listener)
    else this.emptied(listener)
  }

  drain(timeoutMs: number): Promise<{ cut: number }> {
    this.#draining ??= this.#drain(timeoutMs)
    return this.#draining
  }

  cut(): void {
    for (const listener of [...this.#listeners.values(), ...this.#leaving]) listener.close()
    this.#listeners.clear()
    this.#leaving.clear()
    this.#load.close()
  }

  limits(): EngineLimits {
    return this.options.limits()
  }

  problem(error: unknown): void {
    this.options.onProblem(asError(error))
  }

  refused(refusal: Refusal): void {
    this.options.onRefused?.(refusal)
  }

  began(): void {
    this.#load.countInFlight(1)
  }

  watch(exchange: WatchedExchange): void {
    this.exchanges.add(exchange)
  }

  released(exchange: WatchedExchange): void {
    this.exchanges.remove(exchange)
    this.#load.countInFlight(-1)
  }

  /** New connections of an address get these certificates. */
  protected useTls(name: string, tls: Tls): void {
    this.tls.set(name, tls)
    const listener = this.#listeners.get(name)
    if (listener === undefined) return
    listener.setTls(tls)
    this.tlsRebuilds++
  }

  /** Announces the shutdown to clients whose protocol has a way to say so. */
  protected leave(): void {
    for (const listener of this.#leaving) listener.leave()
  }

  #lingering(): Lingering {
    const leaving = [...this.#leaving]
    return { hasNew: leaving.some(({ hasNew }) => hasNew), graceMs: Math.max(0, ...leaving.map(({ graceMs }) => graceMs)) }
  }

  async #drain(timeoutMs: number): Promise<{ cut: number }> {
    for (const name of [...this.#listeners.keys()]) this.unlisten(name)
    // In a turn of its own: until then `isDraining` says no.
    await Promise.resolve()
    this.leave()
    const cut = await drained(this.#load, timeoutMs, () => this.#lingering())
    this.cut()
    return { cut }
  }
}
