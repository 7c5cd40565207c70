import type { ByteSink } from './byte-sink.ts'

/** Options of a line queue. */
interface LineQueueOptions {
  readonly sink: ByteSink
  /** Lines up to this many bytes wait for a slow reader; further lines are dropped and counted. @default 4 MiB */
  readonly maxBufferedBytes?: number
  /** Lines begin to be dropped. Not called again before a minute without a dropped line has passed. */
  readonly onDropping?: (reason: string) => void
}

/** Room for lines, which one queue fills. */
interface LineBlock {
  bytes: Buffer
  end: number
}

/** Most bytes of UTF-8 for one unit of a string. */
const UTF8_BYTES_PER_UNIT = 3
const BLOCK_BYTES = 64 * 1024
const DEFAULT_MAX_BUFFERED_BYTES = 4 * 1024 * 1024
/**
 * Least time between the beginnings of two writes, unless there is enough for the largest one: a write costs as much as some dozens of
 * lines.
 */
const GATHER_MS = 10
/** Pause before a full non-blocking pipe is tried again. */
const FULL_RETRY_MS = 20
/** Pause after other failures, such as a full disk. */
const FAILED_RETRY_MS = 1_000
const QUIET_MS = 60_000
const NEWLINE = 0x0a

/** The reader is gone for good. */
const FINAL_CODES: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ENOTCONN', 'EBADF', 'ERR_STREAM_DESTROYED'])

/** Counts line breaks. */
export function linesIn(bytes: Buffer): number {
  let lines = 0
  for (const byte of bytes) if (byte === NEWLINE) lines++
  return lines
}

/**
 * Writes lines in batches: a line leaves at the end of its turn of the event loop, or with those of the next milliseconds. At
 * most one write is in flight, and a reader that does not keep up, or a full disk, costs lines, never time.
 */
export class LineQueue {
  readonly #sink: ByteSink
  readonly #maxBufferedBytes: number
  readonly #onDropping: ((reason: string) => void) | undefined
  #chunks: Buffer[] = []
  /** Lines are written into one block, and leave it without being copied. */
  readonly #block = { bytes: Buffer.alloc(0), end: 0 }
  /** Lines before it have been taken out of the block. */
  #blockStart = 0
  /** Of the chunks and the block. */
  #queuedBytes = 0
  #pending: Buffer = Buffer.alloc(0)
  #isScheduled = false
  #isWriting = false
  #writtenAt = Number.NEGATIVE_INFINITY
  #gathering: NodeJS.Timeout | undefined
  /** The last write failed with this code, other than for a full pipe. */
  #failure: string | undefined
  #retry: NodeJS.Timeout | undefined
  #isOver = false
  #isClosing = false
  #dropped = 0
  #droppedAt = Number.NEGATIVE_INFINITY
  #idle: (() => void) | undefined

  constructor({ sink, maxBufferedBytes = DEFAULT_MAX_BUFFERED_BYTES, onDropping }: LineQueueOptions) {
    this.#sink = sink
    this.#maxBufferedBytes = maxBufferedBytes
    this.#onDropping = onDropping
  }

  /** Lines dropped so far because the reader was slow or away, or the disk full. */
  get droppedLines(): number {
    return this.#dropped
  }

  /** Queues a line, which ends in a newline. @returns false if it is dropped */
  write(line: string): boolean {
    const block = this.reserve(line.length * UTF8_BYTES_PER_UNIT)
    if (block === undefined) return false
    this.commit(block.end + block.bytes.write(line, block.end))
    return true
  }

  /**
   * Room for a line, to be written into `bytes` from `end` on, and queued with `commit` before anything else is done with the queue.
   * @param size its most bytes
   * @returns undefined if the line is dropped
   */
  reserve(size: number): Readonly<LineBlock> | undefined {
    if (!this.#hasRoom) {
      this.#drop(1)
      return undefined
    }
    const block = this.#block
    if (block.bytes.byteLength - block.end < size) {
      this.#takeLines()
      block.bytes = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, size))
      block.end = 0
      this.#blockStart = 0
    }
    return block
  }

  /** Queues the line that was written into the reserved room. @param end behind its newline */
  commit(end: number): void {
    this.#queuedBytes += end - this.#block.end
    this.#block.end = end
    this.#schedule()
  }

  /** Queues whole lines as bytes, which must not change any more. */
  append(lines: Buffer): void {
    if (!this.#hasRoom) {
      this.#drop(linesIn(lines))
      return
    }
    this.#takeLines()
    this.#chunks.push(lines)
    this.#queuedBytes += lines.byteLength
    this.#schedule()
  }

  get #hasRoom(): boolean {
    return !this.#isOver && this.#queuedSize <= this.#maxBufferedBytes
  }

  get #queuedSize(): number {
    return this.#queuedBytes + this.#pending.byteLength
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isWriting) return
    if (this.#gathering !== undefined && this.#queuedSize < this.#sink.maxBytes) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  /** Writes out the queued lines, no longer than `timeoutMs`. Lines that the reader did not take are counted as dropped. */
  async close(timeoutMs: number): Promise<void> {
    if (this.#isOver) return
    const done = new Promise<void>((resolve) => {
      this.#idle = resolve
    })
    this.#isClosing = true
    const timer = setTimeout(() => this.#end(), timeoutMs)
    if (this.#retry !== undefined) this.#tryAgain()
    else this.#pump()
    await done
    clearTimeout(timer)
    this.#isOver = true
    this.#sink.close()
  }

  #drop(count: number): void {
    this.#dropped += count
    const now = performance.now()
    const isNew = now - this.#droppedAt > QUIET_MS
    this.#droppedAt = now
    if (isNew) this.#onDropping?.(this.#failure ?? 'the reader is too slow')
  }

  #collect(): void {
    this.#takeLines()
    if (this.#chunks.length === 0) return
    const isOne = this.#chunks.length === 1 && this.#pending.byteLength === 0
    this.#pending = (isOne && this.#chunks[0]) || Buffer.concat([this.#pending, ...this.#chunks])
    this.#chunks = []
    this.#queuedBytes = 0
  }

  /** Makes a chunk of the lines in the block. */
  #takeLines(): void {
    const { bytes, end } = this.#block
    if (end === this.#blockStart) return
    this.#chunks.push(bytes.subarray(this.#blockStart, end))
    this.#blockStart = end
  }

  /** As many whole lines as one write may carry; a single longer line goes alone. */
  #nextLength(): number {
    const { maxBytes } = this.#sink
    if (this.#pending.byteLength <= maxBytes) return this.#pending.byteLength
    const lastEnd = this.#pending.lastIndexOf(NEWLINE, maxBytes - 1)
    return (lastEnd === -1 ? this.#pending.indexOf(NEWLINE) : lastEnd) + 1
  }

  /** True if more lines are waited for before the next write. */
  #gathers(now: number): boolean {
    if (this.#isClosing || this.#queuedSize >= this.#sink.maxBytes) return false
    const restMs = this.#writtenAt + GATHER_MS - now
    if (restMs <= 0) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#pump()
    }, restMs)
    return true
  }

  #pump(): void {
    if (this.#isWriting || this.#isOver) return
    if (this.#queuedSize === 0) {
      this.#idle?.()
      return
    }
    const now = performance.now()
    if (this.#gathers(now)) return
    if (this.#pending.byteLength < this.#sink.maxBytes) this.#collect()
    this.#writtenAt = now
    this.#isWriting = true
    this.#sink.write(this.#pending.subarray(0, this.#nextLength()), (error, bytes) => {
      this.#isWriting = false
      if (error === null) {
        this.#failure = undefined
        this.#pending = this.#pending.subarray(bytes)
        this.#pump()
      } else if (error.code === 'EAGAIN') this.#retryIn(FULL_RETRY_MS)
      else this.#failed(error.code ?? error.message)
    })
  }

  #failed(code: string): void {
    this.#failure = code
    if (this.#isClosing || FINAL_CODES.has(code)) this.#end()
    else this.#retryIn(FAILED_RETRY_MS)
  }

  #retryIn(ms: number): void {
    this.#isWriting = true
    this.#retry = setTimeout(() => this.#tryAgain(), ms).unref()
  }

  #tryAgain(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#isWriting = false
    this.#pump()
  }

  /** The reader is gone, or time is up. */
  #end(): void {
    this.#isOver = true
    this.#collect()
    const lines = linesIn(this.#pending)
    if (lines > 0) this.#drop(lines)
    this.#pending = Buffer.alloc(0)
    this.#idle?.()
  }
}
