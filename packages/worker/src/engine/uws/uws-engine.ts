import uws from 'uWebSockets.js'
import { isDeepStrictEqual } from 'node:util'
import { asError } from '@svc/core'
import type { ListenAddress, ListenerTls } from '@svc/protocol'
import type { Engine, EngineLimits, EngineOptions, Refusal } from '../engine.ts'
import { drained, EngineLoad } from '../engine-load.ts'
import { EngineError } from '../errors.ts'
import { ExchangeWatch, type WatchedExchange } from '../exchange-watch.ts'
import { HeaderBlocks } from '../header-block.ts'
import { tryCertificate } from './certificate-trial.ts'
import type { ExchangeContext } from './exchange-context.ts'
import { PeerAddresses } from './peer-address.ts'
import { fallbackOf } from './sni-app.ts'
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
  /** Certificates of addresses. */
  readonly #tls = new Map<string, ListenerTls>()
  #tlsRebuilds = 0
  #lostBytes = 0
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

  get lostBytes(): number {
    return this.#lostBytes
  }

  get tlsRebuilds(): number {
    return this.#tlsRebuilds
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
    const listener = new UwsListener(address.name, tls, {
      options: this.#options,
      context: this,
      onConnections: (change) => this.#counted(listener, change),
      onLost: (bytes) => {
        this.#lostBytes += bytes
      },
    })
    const port = await listener.listen(address)
    this.#listeners.set(address.name, listener)
    return port
  }

  prepareTls(name: string, tls: ListenerTls): () => void {
    const before = this.#tls.get(name)
    if (isDeepStrictEqual(before, tls)) return () => undefined
    fallbackOf(tls)
    if (tls.minVersion === '1.3') throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name}: this engine cannot refuse TLS 1.2`)
    const known = new Set([...this.#tls.values()].flatMap(({ certificates }) => certificates.map(({ id }) => id)))
    for (const certificate of tls.certificates) if (!known.has(certificate.id)) tryCertificate(name, certificate)
    return () => {
      this.#tls.set(name, tls)
      const listener = this.#listeners.get(name)
      if (listener === undefined) return
      listener.setTls(tls)
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
