const LF = 0x0a
/** Longest line that is handed on whole. */
const MAX_LINE_BYTES = 8 * 1024
/** Limit of the output of one request. */
const MAX_BYTES = 64 * 1024
const MAX_LINES = 512

/** Makes lines of what an application writes for its operators. Output beyond the bounds is omitted, with a note. */
export class ErrorLines {
  readonly #onLine: (line: string) => void
  #held: Buffer = Buffer.alloc(0)
  #leftBytes = MAX_BYTES
  #leftLines = MAX_LINES
  #isOver = false

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver) return
    const taken = bytes.subarray(0, this.#leftBytes)
    this.#leftBytes -= taken.byteLength
    this.#split(Buffer.concat([this.#held, taken]))
    if (taken.byteLength === bytes.byteLength) return
    this.flush()
    this.#end()
  }

  /** Hands on a line that has not come to its end. */
  flush(): void {
    const rest = this.#held
    this.#held = Buffer.alloc(0)
    this.#tell(rest)
  }

  #split(text: Buffer): void {
    let from = 0
    for (let end = text.indexOf(LF); end !== -1; end = text.indexOf(LF, from)) {
      this.#tell(text.subarray(from, end))
      from = end + 1
    }
    this.#held = text.subarray(from)
    if (this.#held.byteLength > MAX_LINE_BYTES) this.flush()
  }

  #tell(line: Buffer): void {
    for (let from = 0; from < line.byteLength; from += MAX_LINE_BYTES) {
      const text = line.toString('utf8', from, Math.min(line.byteLength, from + MAX_LINE_BYTES)).trim()
      if (text === '' || this.#isOver) continue
      if (this.#leftLines-- > 0) this.#onLine(text)
      else this.#end()
    }
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onLine('(further output omitted)')
  }
}
