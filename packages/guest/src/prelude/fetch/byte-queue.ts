import { ReadableStream } from 'web-streams-polyfill'
import { concatBytes } from '../encoding/bytes.ts'

/** Bytes that arrive over time from the host, read once: whole, or as a stream that is made on demand. */
export class ByteQueue {
  readonly #pieces: Uint8Array[] = []
  #isEnded = false
  #error: unknown
  #hasFailed = false
  #wake: (() => void) | undefined
  #onCancel: (() => void) | undefined

  /** Sets what happens when the reader loses interest. */
  onCancel(listener: () => void): void {
    this.#onCancel = listener
  }

  push(bytes: Uint8Array): void {
    if (this.#isEnded || this.#hasFailed) return
    this.#pieces.push(bytes)
    this.#wake?.()
  }

  end(): void {
    this.#isEnded = true
    this.#wake?.()
  }

  fail(error: unknown): void {
    if (this.#isEnded || this.#hasFailed) return
    this.#hasFailed = true
    this.#error = error
    this.#wake?.()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }

  /** Waits for the next piece; undefined at the end. Throws what `fail` was given. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) return piece
      if (this.#hasFailed) throw this.#error
      if (this.#isEnded) return undefined
      await this.#change()
    }
  }

  /** Waits for the end and returns everything. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    while (!this.#isEnded) {
      if (this.#hasFailed) throw this.#error
      await this.#change()
    }
    return concatBytes(this.#pieces.splice(0))
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = await this.next()
          if (piece === undefined) controller.close()
          else controller.enqueue(piece)
        },
        cancel: () => {
          this.#pieces.length = 0
          this.#onCancel?.()
        },
      },
      { highWaterMark: 0 },
    )
  }
}
