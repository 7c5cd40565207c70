import type { LineQueue } from './line-queue.ts'

const NEWLINE = 0x0a
/** Begins a line with the path of the file that the lines behind it are for. Formatters escape it. */
const MARK = 0x00
/** A longer line cannot come from a formatter. */
const MAX_LINE_BYTES = 256 * 1024

/** Sends lines for several files through one stream. */
export class LineSender {
  readonly #queue: LineQueue
  /** The file of the line that was sent last. */
  #path = ''

  constructor(queue: LineQueue) {
    this.#queue = queue
  }

  /** @param line ends in a newline */
  send(path: string, line: string): void {
    const isNew = path !== this.#path
    const isSent = this.#queue.write(isNew ? `${String.fromCharCode(MARK)}${path}\n${line}` : line)
    if (isNew && isSent) this.#path = path
  }
}

/** Takes such a stream apart. An incomplete line at its end is dropped. */
export class LineReceiver {
  readonly #onLines: (path: string, lines: Buffer) => void
  #path = ''
  #rest: Buffer = Buffer.alloc(0)

  /** @param onLines gets whole lines, in memory that does not change */
  constructor(onLines: (path: string, lines: Buffer) => void) {
    this.#onLines = onLines
  }

  /** @returns false if the stream is broken: it is to be closed */
  take(chunk: Buffer): boolean {
    const bytes = this.#rest.byteLength === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    // A copy: a few bytes must not keep a whole chunk.
    this.#rest = Buffer.from(bytes.subarray(end))
    this.#split(bytes.subarray(0, end))
    return this.#rest.byteLength <= MAX_LINE_BYTES
  }

  #split(bytes: Buffer): void {
    let from = 0
    for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, from)) {
      this.#emit(bytes.subarray(from, at))
      const end = bytes.indexOf(NEWLINE, at)
      this.#path = bytes.toString('utf8', at + 1, end)
      from = end + 1
    }
    this.#emit(bytes.subarray(from))
  }

  #emit(lines: Buffer): void {
    if (lines.byteLength > 0) this.#onLines(this.#path, lines)
  }
}
