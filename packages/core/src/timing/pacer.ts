/** Long enough to make progress, short enough that the wait goes unnoticed. */
const DEFAULT_SLICE_MS = 8

/** Cuts a long piece of work into slices, between which the process does whatever else there is to do. */
export class Pacer {
  readonly #sliceMs: number
  #sliceBeganAt = performance.now()

  constructor(sliceMs = DEFAULT_SLICE_MS) {
    this.#sliceMs = sliceMs
  }

  /** True if the slice has ended. */
  get isDue(): boolean {
    return performance.now() - this.#sliceBeganAt >= this.#sliceMs
  }

  /** Resolves in a later turn, in which the next slice begins. */
  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#sliceBeganAt = performance.now()
  }
}
