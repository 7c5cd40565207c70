/** So many requests that are over are remembered. */
const MAX_KEPT = 1_024

/**
 * Through where the last requests came that are over (CDN-Loop, RFC 8586): code that they left running still fetches for them.
 * Requests that came through nowhere, which are almost all, are not kept.
 */
export class KeptLoops {
  readonly #loops = new Map<number, string>()

  /** Keeps the field of a request that has ended; "" is nothing to keep. */
  keep(requestNumber: number, cdnLoop: string): void {
    if (cdnLoop === '') return
    this.#loops.set(requestNumber, cdnLoop)
    if (this.#loops.size <= MAX_KEPT) return
    const [oldest] = this.#loops.keys()
    if (oldest !== undefined) this.#loops.delete(oldest)
  }

  /** The field of a request that has ended, or "". */
  of(requestNumber: number): string {
    return this.#loops.get(requestNumber) ?? ''
  }
}
