import { join } from 'node:path'
import type { Config } from '@svc/config'
import { asError } from '@svc/core'
import type { Engine } from '@svc/engine'
import type { GenerationSpec, ListenAddress } from '@svc/protocol'

/** The generation, as far as addresses are concerned. */
type ListenSpec = Pick<GenerationSpec, 'generation' | 'listen' | 'tls'>

/**
 * The listen addresses of a worker over its generations. New ones are opened when a generation takes over and not before, so that a
 * reload that is aborted never listened anywhere. Calls must follow one another.
 */
export class ListenAddresses {
  readonly #engine: Pick<Engine, 'prepareTls' | 'listen' | 'unlisten'>
  readonly #onProblem: (error: Error) => void
  readonly #open = new Set<string>()
  /** By generation and address: puts the certificates of a prepared generation in force. */
  readonly #certificates = new Map<number, Map<string, () => void>>()

  constructor(engine: Pick<Engine, 'prepareTls' | 'listen' | 'unlisten'>, onProblem: (error: Error) => void) {
    this.#engine = engine
    this.#onProblem = onProblem
  }

  /** Readies the certificates of a generation. @throws ENGINE_BAD_CERTIFICATE */
  prepare({ generation, listen, tls }: ListenSpec): void {
    const certificates = new Map<string, () => void>()
    for (const { name } of listen) {
      const wanted = tls[name]
      if (wanted !== undefined) certificates.set(name, this.#engine.prepareTls(name, wanted))
    }
    this.#certificates.set(generation, certificates)
  }

  /** Discards the prepared listeners. */
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
        this.#onProblem(asError(error))
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
      this.#engine.unlisten(name)
    }
  }

  async #openOne(address: ListenAddress, generation: number): Promise<void> {
    const certificates = this.#certificates.get(generation)
    certificates?.get(address.name)?.()
    certificates?.delete(address.name)
    await this.#engine.listen(address)
    this.#open.add(address.name)
  }
}

/** Directory for request bodies too long for memory, in unnamed files. */
export function bodyDirectory({ server }: Pick<Config, 'server'>): string {
  return join(server.state_dir, 'bodies')
}
