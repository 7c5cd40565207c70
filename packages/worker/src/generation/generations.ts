import { WorkerError } from '../errors/errors.ts'
import type { ServingGeneration } from './serving-generation.ts'

/** The generations of a worker: the one in service, and those that are prepared to take over. */
export class Generations {
  readonly #prepared = new Map<number, ServingGeneration>()
  /** Written here alone. */
  inService: ServingGeneration | undefined

  /**
   * The generation that new requests begin with. While the first generation takes over, it already serves the requests that come in.
   * @throws WORKER_NOT_PREPARED
   */
  get current(): ServingGeneration {
    const generation = this.inService ?? this.#prepared.values().next().value
    if (generation === undefined) throw new WorkerError('WORKER_NOT_PREPARED', 'no generation has been prepared yet')
    return generation
  }

  /** The generation in service and all that are prepared. */
  all(): ServingGeneration[] {
    const prepared = [...this.#prepared.values()]
    return this.inService === undefined ? prepared : [this.inService, ...prepared]
  }

  add(generation: ServingGeneration): void {
    this.#prepared.set(generation.number, generation)
  }

  /** @throws WORKER_NOT_PREPARED */
  prepared(number: number): ServingGeneration {
    const generation = this.#prepared.get(number)
    if (generation === undefined) throw new WorkerError('WORKER_NOT_PREPARED', `generation ${number} was not prepared`)
    return generation
  }

  /** Puts a generation in service and forgets the others. @returns the generation that was in service before */
  serve(next: ServingGeneration): ServingGeneration | undefined {
    const previous = this.inService
    this.#prepared.clear()
    this.inService = next
    return previous
  }

  abandon(number: number): void {
    this.#prepared.delete(number)
  }
}
