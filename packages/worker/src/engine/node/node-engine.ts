import { asError } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/protocol'
import type { Engine, EngineLimits, EngineOptions, Refusal } from '../engine.ts'
import { drained, EngineLoad } from '../engine-load.ts'
import { EngineError } from '../errors.ts'
import { ExchangeWatch, type WatchedExchange } from '../exchange-watch.ts'
import type { NodeContext } from './node-context.ts'
import { NodeHeads } from './node-head.ts'
import { NodeListener } from './node-listener.ts'
import { TlsContexts } from './tls-contexts.ts'
import { WebSocketHub } from './web-socket-hub.ts'

/** The engine on node:http and node:http2. Rules and limits: docs/http-engine.md. */
export class NodeEngine implements Engine, NodeContext {
  readonly heads: NodeHeads
  readonly webSockets: WebSocketHub
  readonly #options: EngineOptions
  readonly #watch: ExchangeWatch
  readonly #load = new EngineLoad()
  readonly #listeners = new Map<string, NodeListener>()
  readonly #tls = new Map<string, TlsContexts>()
  #tlsRebuilds = 0
  /** Listeners that no longer listen but still have connections. */
  readonly #leaving = new Set<NodeListener>()
  #draining: Promise<{ cut: number }> | undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.heads = new NodeHeads((error) => this.problem(error))
    this.webSockets = new WebSocketHub((error) => this.problem(error))
    this.#watch = new ExchangeWatch(options.limits, (error) => this.problem(error))
  }

  get connections(): number {
    return this.#load.connections
  }

  get inFlight(): number {
    return this.#load.inFlight
  }

  get lostBytes(): number {
    return 0
  }

  get tlsRebuilds(): number {
    return this.#tlsRebuilds
  }

  get isDraining(): boolean {
    return this.#draining !== undefined
  }

  async listen(address: ListenAddress): Promise<number> {
    this.#assertOpen()
    if (this.#listeners.has(address.name)) {
      throw new EngineError('ENGINE_ADDRESS_IN_USE', `this engine listens on ${address.name} already`)
    }
    const tls = address.isTls === true ? this.#tls.get(address.name) : undefined
    if (address.isTls === true && tls === undefined) {
      throw new EngineError('ENGINE_BAD_CERTIFICATE', `${address.name} speaks TLS and has no certificate`)
    }
    const listener = new NodeListener(address, tls, {
      options: this.#options,
      context: this,
      onConnections: (change) => this.#counted(listener, change),
    })
    const port = await listener.listen(address)
    this.#listeners.set(address.name, listener)
    return port
  }

  prepareTls(name: string, tls: ListenerTls): () => void {
    const before = this.#tls.get(name)
    if (before?.isFor(tls) === true) return () => undefined
    const contexts = new TlsContexts(name, tls, before)
    return () => {
      this.#tls.set(name, contexts)
      const listener = this.#listeners.get(name)
      if (listener === undefined) return
      listener.setTls(contexts)
      this.#tlsRebuilds++
    }
  }

  unlisten(name: string): void {
    const listener = this.#listeners.get(name)
    if (listener === undefined) return
    this.#listeners.delete(name)
    this.#tls.delete(name)
    listener.unlisten()
    if (listener.connections > 0) this.#leaving.add(listener)
    else listener.close()
  }

  drain(timeoutMs: number): Promise<{ cut: number }> {
    this.#draining ??= this.#drain(timeoutMs)
    return this.#draining
  }

  cut(): void {
    // What is under way learns of it now, not when its connection has closed.
    this.#watch.cutAll()
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
    // In a turn of its own: until then `isDraining` says no.
    await Promise.resolve()
    for (const listener of this.#leaving) listener.leave()
    this.webSockets.leave()
    const cut = await drained(this.#load, timeoutMs)
    this.cut()
    return { cut }
  }

  #counted(listener: NodeListener, change: number): void {
    if (listener.connections === 0 && this.#leaving.delete(listener)) listener.close()
    this.#load.countConnections(change)
  }

  #assertOpen(): void {
    if (this.#load.isClosed || this.isDraining) throw new EngineError('ENGINE_CLOSED', 'the engine is closed or about to close')
  }
}
