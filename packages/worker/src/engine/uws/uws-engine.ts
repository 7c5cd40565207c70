import uws from 'uWebSockets.js'
import { asError } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/protocol'
import type { Engine, EngineLimits, EngineOptions, Refusal } from '../engine.ts'
import { EngineError } from '../errors.ts'
import { HeaderBlocks } from '../header-block.ts'
import type { ExchangeContext, WatchedExchange } from './exchange-context.ts'
import { ExchangeWatch } from './exchange-watch.ts'
import { PeerAddresses } from './peer-address.ts'
import { UwsListener } from './uws-listener.ts'

/** How long finished responses may take to leave after the last request, before idle connections are cut. */
const FLUSH_GRACE_MS = 500

/** The engine on uWebSockets.js: HTTP/1.1 over TCP. Rules and limits: docs/http-engine.md. */
export class UwsEngine implements Engine, ExchangeContext {
  readonly blocks: HeaderBlocks
  readonly peers = new PeerAddresses()
  readonly #options: EngineOptions
  readonly #watch: ExchangeWatch
  readonly #listeners = new Map<string, UwsListener>()
  /** Listeners that no longer listen but still have connections. */
  readonly #leaving = new Set<UwsListener>()
  #draining: Promise<{ cut: number }> | undefined
  #isClosed = false
  #connections = 0
  #inFlight = 0
  #onIdle: (() => void) | undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.blocks = new HeaderBlocks((error) => this.problem(error))
    this.#watch = new ExchangeWatch(options.limits, (error) => this.problem(error))
    uws._cfg('silent')
  }

  get connections(): number {
    return this.#connections
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get isDraining(): boolean {
    return this.#draining !== undefined
  }

  async listen(address: ListenAddress): Promise<number> {
    this.#assertOpen()
    if (this.#listeners.has(address.name)) {
      throw new EngineError('ENGINE_ADDRESS_IN_USE', `this engine listens on ${address.name} already`)
    }
    const listener = new UwsListener(address.name, this.#options, this, (change) => this.#counted(listener, change))
    const port = await listener.listen(address)
    this.#listeners.set(address.name, listener)
    return port
  }

  setTls(name: string, _tls: ListenerTls): void {
    throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name}: this engine has no TLS`)
  }

  unlisten(name: string): void {
    const listener = this.#listeners.get(name)
    if (listener === undefined) return
    this.#listeners.delete(name)
    listener.unlisten()
    if (listener.connections > 0) this.#leaving.add(listener)
  }

  drain(timeoutMs: number): Promise<{ cut: number }> {
    this.#draining ??= this.#drain(timeoutMs)
    return this.#draining
  }

  cut(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners.values(), ...this.#leaving]) listener.close()
    this.#listeners.clear()
    this.#leaving.clear()
    this.#onIdle?.()
  }

  limits(): EngineLimits {
    return this.#options.limits()
  }

  problem(error: unknown): void {
    this.#options.onProblem(asError(error))
  }

  refused(refusal: Refusal): void {
    this.#options.onRefused?.(refusal)
  }

  began(): void {
    this.#inFlight++
  }

  watch(exchange: WatchedExchange): void {
    this.#watch.add(exchange)
  }

  released(exchange: WatchedExchange): void {
    this.#inFlight--
    this.#watch.remove(exchange)
    if (this.#inFlight === 0) this.#onIdle?.()
  }

  async #drain(timeoutMs: number): Promise<{ cut: number }> {
    const deadline = performance.now() + timeoutMs
    for (const name of [...this.#listeners.keys()]) this.unlisten(name)
    while (!this.#isClosed && this.#connections > 0) {
      await this.#until(() => this.#inFlight === 0, deadline - performance.now())
      if (this.#inFlight > 0 && performance.now() >= deadline) break
      const graceMs = Math.min(FLUSH_GRACE_MS, deadline - performance.now())
      await this.#until(() => this.#connections === 0, graceMs)
      if (this.#inFlight === 0) break
    }
    const cut = this.#inFlight
    this.cut()
    return { cut }
  }

  /** Waits for a condition that becomes true when a request or a connection ends, at most `timeoutMs`. */
  #until(isReached: () => boolean, timeoutMs: number): Promise<void> {
    if (isReached() || this.#isClosed || timeoutMs <= 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    this.#onIdle = () => {
      if (isReached() || this.#isClosed) resolve()
    }
    return promise.finally(() => {
      clearTimeout(timer)
      this.#onIdle = undefined
    })
  }

  #counted(listener: UwsListener, change: number): void {
    this.#connections += change
    if (listener.connections === 0) this.#leaving.delete(listener)
    if (this.#connections === 0) this.#onIdle?.()
  }

  #assertOpen(): void {
    if (this.#isClosed || this.isDraining) throw new EngineError('ENGINE_CLOSED', 'the engine is closed or about to close')
  }
}
