import { join } from 'node:path'
import type { Config, EngineName } from '@svc/config'
import { asError } from '@svc/core'
import type { Engine } from '@svc/engine'
import type { GenerationSpec, ServedAddress } from '@svc/protocol'

const MAX_LOST_BYTES = 32 * 1024 * 1024 // some three hundred exchanges of a few certificates

/** The generation, as far as addresses are concerned. */
type ListenSpec = Pick<GenerationSpec, 'generation' | 'listen' | 'tls'>

/**
 * The engines of a worker, each made when the first address needs it, and the listen addresses over the generations. Engine node serves the
 * sockets of the service manager: uWebSockets.js can only listen on sockets that it opens, and the kernel lets no other user open one beside
 * those of the service manager, which belong to root.
 * New addresses are opened when a generation takes over and not before, so that a reload that is aborted never listened anywhere. One that
 * changes its engine is open on both for that moment. Calls of `prepare`, `open`, `serve` and `abandon` must follow one another.
 */
export class WorkerEngine {
  readonly #make: (name: EngineName) => Promise<Engine>
  readonly #onListenFailure: (error: Error) => void
  readonly #engines = new Map<EngineName, Engine>()
  /** The engine that accepts the connections of each open address. */
  readonly #open = new Map<string, Engine>()
  /** Addresses that another engine has opened by now. */
  #left: { readonly name: string; readonly engine: Engine }[] = []
  /** By generation and address: puts the certificates of a prepared generation in force. */
  readonly #certificates = new Map<number, Map<string, () => void>>()
  #isWornOut = false

  constructor(make: (name: EngineName) => Promise<Engine>, onListenFailure: (error: Error) => void) {
    this.#make = make
    this.#onListenFailure = onListenFailure
  }

  get connections(): number {
    return this.#sum(({ connections }) => connections)
  }

  get accepted(): number {
    return this.#sum(({ accepted }) => accepted)
  }

  get inFlight(): number {
    return this.#sum(({ inFlight }) => inFlight)
  }

  /** Readies the addresses and certificates of a generation. @throws ENGINE_BAD_CERTIFICATE */
  async prepare({ generation, listen, tls }: ListenSpec): Promise<void> {
    const certificates = new Map<string, () => void>()
    for (const address of listen) {
      const engine = await this.#engineOf(address)
      const wanted = tls[address.name]
      if (wanted !== undefined) certificates.set(address.name, engine.prepareTls(address.name, wanted))
    }
    this.#certificates.set(generation, certificates)
  }

  /** Discards what was prepared. */
  abandon(generation: number): void {
    this.#certificates.delete(generation)
  }

  /**
   * Opens the addresses that are not open, with their certificates. The first generation needs all of them. A later one is in service
   * everywhere else by now, and the master has tried the addresses: one that cannot be opened all the same is reported, and tried again with
   * the next generation.
   * @throws EngineError of listening (such as ENGINE_ADDRESS_IN_USE), for the first generation
   */
  async open({ generation, listen }: ListenSpec): Promise<void> {
    const isFirst = this.#open.size === 0
    for (const address of listen) {
      const engine = await this.#engineOf(address)
      if (this.#open.get(address.name) === engine) continue
      try {
        await this.#openOne(address, engine, generation)
      } catch (error) {
        if (isFirst) throw error
        this.#onListenFailure(asError(error))
      }
    }
  }

  /** Puts the certificates in force, and stops listening on the addresses that the generation does not have, or has on another engine. */
  serve({ generation, listen }: ListenSpec): void {
    for (const [name, enforce] of this.#certificates.get(generation) ?? []) if (this.#open.has(name)) enforce()
    this.#certificates.clear()
    for (const { name, engine } of this.#left.splice(0)) engine.unlisten(name)
    for (const [name, engine] of [...this.#open]) {
      if (listen.some((address) => address.name === name)) continue
      this.#open.delete(name)
      engine.unlisten(name)
    }
  }

  /** True once, when exchanges of certificates have left so much memory behind that only a new process gives it back. */
  wearsOut(): boolean {
    if (this.#isWornOut || this.#sum(({ lostBytes }) => lostBytes) < MAX_LOST_BYTES) return false
    this.#isWornOut = true
    return true
  }

  cut(): void {
    for (const engine of this.#engines.values()) engine.cut()
  }

  /** Waits for the requests in flight. The connections know that they are to close when this returns. */
  async drain(timeoutMs: number): Promise<{ cut: number }> {
    const drained = await Promise.all(Array.from(this.#engines.values(), (engine) => engine.drain(timeoutMs)))
    return { cut: drained.reduce((sum, { cut }) => sum + cut, 0) }
  }

  #sum(count: (engine: Engine) => number): number {
    let sum = 0
    for (const engine of this.#engines.values()) sum += count(engine)
    return sum
  }

  async #engineOf({ engine: name }: ServedAddress): Promise<Engine> {
    const engine = this.#engines.get(name) ?? (await this.#make(name))
    this.#engines.set(name, engine)
    return engine
  }

  async #openOne(address: ServedAddress, engine: Engine, generation: number): Promise<void> {
    const certificates = this.#certificates.get(generation)
    certificates?.get(address.name)?.()
    certificates?.delete(address.name)
    await engine.listen(address)
    const before = this.#open.get(address.name)
    if (before !== undefined) this.#left.push({ name: address.name, engine: before })
    this.#open.set(address.name, engine)
  }
}

/** Directory for request bodies too long for memory, in unnamed files. */
export function bodyDirectory({ server }: Pick<Config, 'server'>): string {
  return join(server.state_dir, 'bodies')
}
