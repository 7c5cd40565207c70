import { join } from 'node:path'
import type { Config } from '@svc/config'
import { asError } from '@svc/core'
import type { Engine } from '@svc/engine'
import type { GenerationSpec, ListenAddress } from '@svc/protocol'

const MAX_LOST_BYTES = 32 * 1024 * 1024 // some three hundred exchanges of a few certificates

type EngineName = Config['server']['engine']

/** The generation, as far as addresses are concerned. */
type ListenSpec = Pick<GenerationSpec, 'generation' | 'listen' | 'tls'>

/**
 * The engine of a worker and its listen addresses over its generations. The first generation that is prepared says which engine it is.
 * New addresses are opened when a generation takes over and not before, so that a reload that is aborted never listened anywhere. Calls of
 * `prepare`, `open`, `serve` and `abandon` must follow one another.
 */
export class WorkerEngine {
  readonly #make: (name: EngineName) => Promise<Engine>
  readonly #onListenFailure: (error: Error) => void
  #engine: Engine | undefined
  readonly #open = new Set<string>()
  /** By generation and address: puts the certificates of a prepared generation in force. */
  readonly #certificates = new Map<number, Map<string, () => void>>()
  #isWornOut = false

  constructor(make: (name: EngineName) => Promise<Engine>, onListenFailure: (error: Error) => void) {
    this.#make = make
    this.#onListenFailure = onListenFailure
  }

  get connections(): number {
    return this.#engine?.connections ?? 0
  }

  get inFlight(): number {
    return this.#engine?.inFlight ?? 0
  }

  /** Readies the addresses and certificates of a generation. @throws ENGINE_BAD_CERTIFICATE */
  async prepare({ generation, listen, tls }: ListenSpec, name: EngineName): Promise<void> {
    this.#engine ??= await this.#make(name)
    const certificates = new Map<string, () => void>()
    for (const { name } of listen) {
      const wanted = tls[name]
      if (wanted !== undefined) certificates.set(name, this.#engine.prepareTls(name, wanted))
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
      if (this.#open.has(address.name)) continue
      try {
        await this.#openOne(address, generation)
      } catch (error) {
        if (isFirst) throw error
        this.#onListenFailure(asError(error))
      }
    }
  }

  /** Puts the certificates in force, and stops listening on the addresses that the generation does not have. */
  serve({ generation, listen }: ListenSpec): void {
    for (const [name, enforce] of this.#certificates.get(generation) ?? []) if (this.#open.has(name)) enforce()
    this.#certificates.clear()
    for (const name of [...this.#open]) {
      if (listen.some((address) => address.name === name)) continue
      this.#open.delete(name)
      this.#engine?.unlisten(name)
    }
  }

  /** True once, when exchanges of certificates have left so much memory behind that only a new process gives it back. */
  wearsOut(): boolean {
    if (this.#isWornOut || (this.#engine?.lostBytes ?? 0) < MAX_LOST_BYTES) return false
    this.#isWornOut = true
    return true
  }

  cut(): void {
    this.#engine?.cut()
  }

  /** Waits for the requests in flight. The connections know that they are to close when this returns. */
  drain(timeoutMs: number): Promise<{ cut: number }> {
    return this.#engine?.drain(timeoutMs) ?? Promise.resolve({ cut: 0 })
  }

  async #openOne(address: ListenAddress, generation: number): Promise<void> {
    const certificates = this.#certificates.get(generation)
    certificates?.get(address.name)?.()
    certificates?.delete(address.name)
    await this.#engine?.listen(address)
    this.#open.add(address.name)
  }
}

/** Directory for request bodies too long for memory, in unnamed files. */
export function bodyDirectory({ server }: Pick<Config, 'server'>): string {
  return join(server.state_dir, 'bodies')
}
