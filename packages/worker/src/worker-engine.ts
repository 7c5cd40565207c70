import { type Engine, type EngineOptions, makeEngine } from '@svc/engine'
import type { GenerationSpec } from '@svc/protocol'
import { ListenAddresses } from './generation/listen-addresses.ts'

const MAX_LOST_BYTES = 32 * 1024 * 1024 // some three hundred exchanges of a few certificates

/** Input of the engine of a worker. */
interface WorkerEngineOptions {
  readonly engine: EngineOptions
  /** Called when there is no binary of uWebSockets.js for this platform. */
  readonly onFallback: (cause: unknown) => void
  readonly onListenFailure: (error: Error) => void
}

/** The engine of a worker and its listen addresses. The first generation that is prepared says which engine it is. */
export class WorkerEngine {
  readonly #options: WorkerEngineOptions
  #started: { readonly engine: Engine; readonly addresses: ListenAddresses } | undefined
  #isWornOut = false

  constructor(options: WorkerEngineOptions) {
    this.#options = options
  }

  get connections(): number {
    return this.#started?.engine.connections ?? 0
  }

  get inFlight(): number {
    return this.#started?.engine.inFlight ?? 0
  }

  /** Readies the addresses and certificates of a generation. @throws ENGINE_BAD_CERTIFICATE */
  async prepare(spec: GenerationSpec): Promise<void> {
    this.#started ??= await this.#start(spec.config.server.engine)
    this.#started.addresses.prepare(spec)
  }

  /** Opens the addresses of a prepared generation. @throws EngineError of listening (such as ENGINE_ADDRESS_IN_USE), for the first one */
  async open(spec: GenerationSpec): Promise<void> {
    await this.#started?.addresses.open(spec)
  }

  /** Closes the addresses that the generation does not have. */
  serve(spec: GenerationSpec): void {
    this.#started?.addresses.serve(spec)
  }

  abandon(generation: number): void {
    this.#started?.addresses.abandon(generation)
  }

  /** True once, when exchanges of certificates have left so much memory behind that only a new process gives it back. */
  wearsOut(): boolean {
    if (this.#isWornOut || (this.#started?.engine.lostBytes ?? 0) < MAX_LOST_BYTES) return false
    this.#isWornOut = true
    return true
  }

  cut(): void {
    this.#started?.engine.cut()
  }

  /** Waits for the requests in flight. The connections know that they are to close when this returns. */
  drain(timeoutMs: number): Promise<{ cut: number }> {
    return this.#started?.engine.drain(timeoutMs) ?? Promise.resolve({ cut: 0 })
  }

  async #start(name: GenerationSpec['config']['server']['engine']) {
    const engine = await makeEngine(name, this.#options.engine, this.#options.onFallback)
    return { engine, addresses: new ListenAddresses(engine, this.#options.onListenFailure) }
  }
}
