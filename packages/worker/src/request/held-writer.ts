import { asError } from '@svc/core'
import type { BodyWriter, HeaderList } from '@svc/http'

/** The writer of a response whose head is not known yet: keeps what is written until it is, and asks for no more. */
export class HeldWriter implements BodyWriter {
  #writer: BodyWriter | undefined
  #chunks: Uint8Array[] = []
  #end: { readonly trailers: HeaderList | undefined } | undefined
  #isAborted = false
  #onDrain: () => void = () => undefined

  /** @param opening the writer of the response */
  constructor(opening: Promise<BodyWriter>, onProblem: (error: Error) => void) {
    opening.then((writer) => this.#open(writer)).catch((error: unknown) => onProblem(asError(error)))
  }

  write(chunk: Uint8Array, onUnused?: () => void): boolean {
    if (this.#writer !== undefined) return this.#writer.write(chunk, onUnused)
    // A copy: its memory may be reused.
    if (!this.#isAborted) this.#chunks.push(Buffer.from(chunk))
    onUnused?.()
    return false
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
    this.#writer?.onDrain(listener)
  }

  end(chunk?: Uint8Array, trailers?: HeaderList): void {
    if (this.#writer !== undefined) {
      this.#writer.end(chunk, trailers)
      return
    }
    if (chunk !== undefined) this.#chunks.push(Buffer.from(chunk))
    this.#end = { trailers }
  }

  abort(): void {
    this.#isAborted = true
    this.#chunks = []
    this.#writer?.abort()
  }

  #open(writer: BodyWriter): void {
    this.#writer = writer
    writer.onDrain(() => this.#onDrain())
    if (this.#isAborted) {
      writer.abort()
      return
    }
    let takesMore = true
    for (const chunk of this.#chunks) takesMore = writer.write(chunk)
    this.#chunks = []
    if (this.#end !== undefined) writer.end(undefined, this.#end.trailers)
    else if (takesMore) this.#onDrain()
  }
}
