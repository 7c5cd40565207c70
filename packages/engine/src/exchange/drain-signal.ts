/** The one listener of a writer, called once after each time that a write said "wait". */
export class DrainSignal {
  #listener: (() => void) | undefined
  #isAwaited = false

  listen(listener: () => void): void {
    this.#listener = listener
  }

  /** The writer has just said that more should wait. */
  arm(): void {
    this.#isAwaited = true
  }

  fire(): void {
    if (!this.#isAwaited) return
    this.#isAwaited = false
    this.#listener?.()
  }
}
