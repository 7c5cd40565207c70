import uws from 'uWebSockets.js'
import { asError } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/protocol'
import type { Engine, EngineLimits, EngineOptions, Refusal } from '../engine.ts'
import { drained, EngineLoad } from '../engine-load.ts'
import { EngineError } from '../errors.ts'
import { ExchangeWatch, type WatchedExchange } from '../exchange-watch.ts'
import { HeaderBlocks } from '../header-block.ts'
import type { ExchangeContext } from './exchange-context.ts'
import { PeerAddresses } from './peer-address.ts'
import { UwsListener } from './uws-listener.ts'

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
  readonly #load = new EngineLoad()

  constructor(options: EngineOptions) {
    this.#options = options
    this.blocks = new HeaderBlocks((error) => this.problem(error))
    this.#watch = new ExchangeWatch(options.limits, (error) => this.problem(error))
    uws._cfg('silent')
  }

  get connections(): number {
    return this.#load.connections
  }

  get inFlight(): number {
    return this.#load.inFlight
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
    for (const listener of [...this.#listeners.values(), ...this.#leaving]) listener.close()
    this.#listeners.clear()
    this.#leaving.clear()
    this.#load.close()
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
    this.#load.countInFlight(1)
  }

  watch(exchange: WatchedExchange): void {
    this.#watch.add(exchange)
  }

  released(exchange: WatchedExchange): void {
    this.#watch.remove(exchange)
    this.#load.countInFlight(-1)
  }

  async #drain(timeoutMs: number): Promise<{ cut: number }> {
    for (const name of [...this.#listeners.keys()]) this.unlisten(name)
    await Promise.resolve()
    for (const listener of this.#leaving) listener.leave()
    const cut = await drained(this.#load, timeoutMs)
    this.cut()
    return { cut }
  }

  #counted(listener: UwsListener, change: number): void {
    if (listener.connections === 0) this.#leaving.delete(listener)
    this.#load.countConnections(change)
  }

  #assertOpen(): void {
    if (this.#load.isClosed || this.isDraining) throw new EngineError('ENGINE_CLOSED', 'the engine is closed or about to close')
  }
}
