/** The "ended, tell one listener once" part that all channels share. */
export class ClosedSignal {
  #listener: ((reason: Error | undefined) => void) | undefined
  #reason: Error | undefined
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  listen(listener: (reason: Error | undefined) => void): void {
    this.#listener = listener
    if (this.#isClosed) queueMicrotask(() => listener(this.#reason))
  }

  fire(reason?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reason = reason
    this.#listener?.(reason)
  }
}
