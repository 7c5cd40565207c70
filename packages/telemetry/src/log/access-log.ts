import { fstatSync, write } from 'node:fs'
import { type AccessEntry, createAccessFormatter } from './access-line.ts'

/** Options of an access log. */
interface AccessLogOptions {
  readonly format: 'json' | 'pretty'
  /** Open file descriptor; it is not closed. @default standard output */
  readonly fd?: number
  /** Lines up to this many bytes wait for a slow reader; further lines are dropped and counted. @default 4 MiB */
  readonly maxBufferedBytes?: number
}

const STDOUT = 1
const DEFAULT_MAX_BUFFERED_BYTES = 4 * 1024 * 1024
/** Most bytes of one write to a file. */
const FILE_WRITE_BYTES = 64 * 1024
/** PIPE_BUF of Linux: a longer write to a pipe that several processes share could be torn apart by a neighbour's. */
const PIPE_WRITE_BYTES = 4096
/** Pause before a full non-blocking pipe is tried again. */
const RETRY_MS = 20
const NEWLINE = 0x0a

/**
 * Writes access lines in batches: those of one turn of the event loop leave together, at most one write is in flight, and
 * a reader that does not keep up costs lines, never time. Closing it writes out the remaining lines.
 */
export class AccessLog {
  readonly #fd: number
  readonly #format: (entry: AccessEntry) => string
  readonly #maxBufferedBytes: number
  readonly #writeBytes: number
  #lines: string[] = []
  #lineChars = 0
  #pending: Buffer = Buffer.alloc(0)
  #isScheduled = false
  #isWriting = false
  #isFailed = false
  #dropped = 0
  #idle: (() => void) | undefined

  constructor(options: AccessLogOptions) {
    this.#fd = options.fd ?? STDOUT
    this.#format = createAccessFormatter(options.format)
    this.#maxBufferedBytes = options.maxBufferedBytes ?? DEFAULT_MAX_BUFFERED_BYTES
    this.#writeBytes = fstatSync(this.#fd).isFile() ? FILE_WRITE_BYTES : PIPE_WRITE_BYTES
  }

  /** Lines dropped so far because the reader was slow or closed its end. */
  get droppedLines(): number {
    return this.#dropped
  }

  /** Queues the line of one request. */
  write(entry: AccessEntry): void {
    if (this.#isFailed || this.#lineChars + this.#pending.byteLength > this.#maxBufferedBytes) {
      this.#dropped++
      return
    }
    const line = this.#format(entry)
    this.#lines.push(line)
    this.#lineChars += line.length
    if (this.#isScheduled || this.#isWriting) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  /** Writes out the queued lines, no longer than `timeoutMs`. Lines that the reader did not take are counted as dropped. */
  async close(timeoutMs: number): Promise<void> {
    const done = new Promise<void>((resolve) => {
      this.#idle = resolve
    })
    const timer = setTimeout(() => this.#giveUp(), timeoutMs)
    this.#pump()
    await done
    clearTimeout(timer)
  }

  #collect(): void {
    if (this.#lines.length === 0) return
    const added = Buffer.from(this.#lines.join(''))
    this.#pending = this.#pending.byteLength === 0 ? added : Buffer.concat([this.#pending, added])
    this.#lines = []
    this.#lineChars = 0
  }

  /** As many whole lines as one write may carry; a single longer line goes alone. */
  #nextLength(): number {
    if (this.#pending.byteLength <= this.#writeBytes) return this.#pending.byteLength
    const lastEnd = this.#pending.lastIndexOf(NEWLINE, this.#writeBytes - 1)
    return (lastEnd === -1 ? this.#pending.indexOf(NEWLINE) : lastEnd) + 1
  }

  #consume(count: number): void {
    this.#pending = this.#pending.subarray(count)
  }

  #pump(): void {
    if (this.#isWriting) return
    if (this.#pending.byteLength === 0) this.#collect()
    if (this.#pending.byteLength === 0) {
      this.#idle?.()
      return
    }
    this.#isWriting = true
    write(this.#fd, this.#pending, 0, this.#nextLength(), null, (error, written) => {
      this.#isWriting = false
      if (error === null) {
        this.#consume(written)
        this.#pump()
      } else if (error.code === 'EAGAIN') this.#retryLater()
      else this.#giveUp()
    })
  }

  #retryLater(): void {
    this.#isWriting = true
    setTimeout(() => {
      this.#isWriting = false
      this.#pump()
    }, RETRY_MS)
  }

  /** The reader has closed its end, or time is up. */
  #giveUp(): void {
    this.#isFailed = true
    this.#collect()
    for (const byte of this.#pending) if (byte === NEWLINE) this.#dropped++
    this.#pending = Buffer.alloc(0)
    this.#idle?.()
  }
}
