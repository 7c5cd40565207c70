import type { CallContext } from './methods.ts'

/**
 * Sends texts as chunks of a call, as fast as the caller takes them. Texts that come faster are dropped; in their place the caller gets
 * their number, as the body of a chunk without bytes.
 */
export class LossyChunks {
  readonly #call: Pick<CallContext, 'send' | 'drained'>
  #isFull = false
  #dropped = 0

  constructor(call: Pick<CallContext, 'send' | 'drained'>) {
    this.#call = call
  }

  send(text: string): void {
    if (this.#isFull) this.#dropped++
    else if (!this.#call.send(undefined, text)) this.#wait()
  }

  /** Tells the caller that texts are missing that never came here. */
  skip(count: number): void {
    if (this.#isFull) this.#dropped += count
    else this.#call.send(count)
  }

  #wait(): void {
    this.#isFull = true
    this.#call.drained().then(
      () => {
        this.#isFull = false
        const dropped = this.#dropped
        this.#dropped = 0
        if (dropped > 0) this.skip(dropped)
      },
      // The caller is gone.
      () => undefined,
    )
  }
}
