import { closeSync, fstatSync, read } from 'node:fs'
import { asError } from '@svc/core'
import { BodyBlocks, type BodyWriter, type HttpExchange, type HttpRequest, type ResponseHead, rangeLength } from '@svc/http'
import { StaticError } from '../errors/errors.ts'
import { contentStateOf, type OpenFile } from './file-source.ts'
import type { BodyPiece } from './response-plan.ts'

/** Bytes read at a time: few enough to keep memory flat, enough to keep system calls rare. */
const CHUNK_BYTES = 256 * 1024
/** For all files of the process: sites are many. New memory for each chunk costs as much as the rest of its way. */
const blocks = new BodyBlocks(CHUNK_BYTES)

/** The part of an open file that is sent. */
interface FileTransfer {
  readonly file: OpenFile
  readonly head: ResponseHead
  readonly pieces: readonly BodyPiece[]
  /** Sum of all pieces in bytes. */
  readonly length: number
}

/** The receiver of a file: an exchange, or a stand-in. */
export type FileReceiver = Pick<HttpExchange, 'respond' | 'stream' | 'onClosed'> & {
  readonly request: Pick<HttpRequest, 'method' | 'header'>
}

/**
 * Streams pieces of a file at the pace of the client, one chunk in memory at a time. Takes the open file over and closes it
 * in all cases. A file that changes while it is sent makes a truncated response, never a wrong one.
 */
export function sendFile(exchange: FileReceiver, transfer: FileTransfer, onProblem: (error: Error) => void): void {
  const sender = new FileSender(transfer, onProblem)
  exchange.onClosed(() => sender.clientGone())
  sender.start(exchange.stream(transfer.head, { length: transfer.length }))
}

class FileSender {
  readonly #file: OpenFile
  readonly #pieces: BodyPiece[]
  readonly #onProblem: (error: Error) => void
  readonly #contentState: string
  #writer: BodyWriter | undefined
  #isReading = false
  #isWaiting = false
  #isOver = false
  #isClosed = false

  constructor(transfer: FileTransfer, onProblem: (error: Error) => void) {
    this.#file = transfer.file
    this.#pieces = [...transfer.pieces]
    this.#contentState = contentStateOf(transfer.file.stat)
    this.#onProblem = onProblem
  }

  start(writer: BodyWriter): void {
    this.#writer = writer
    writer.onDrain(() => {
      if (!this.#isWaiting) return
      this.#isWaiting = false
      this.#advance()
    })
    this.#advance()
  }

  clientGone(): void {
    this.#isOver = true
    this.#closeFile()
  }

  /** Sends pieces until one has to be read, or the client is slow. */
  #advance(): void {
    while (!this.#isOver && !this.#isWaiting) {
      const piece = this.#pieces.shift()
      if (piece instanceof Uint8Array) {
        this.#write(piece)
        continue
      }
      if (piece === undefined) this.#finish()
      else this.#readFirstPart(piece.start, Math.min(rangeLength(piece), CHUNK_BYTES), piece.end)
      return
    }
  }

  #readFirstPart(start: number, length: number, end: number): void {
    if (start + length <= end) this.#pieces.unshift({ start: start + length, end })
    const chunk = length < CHUNK_BYTES ? Buffer.allocUnsafeSlow(length) : blocks.take()
    this.#isReading = true
    read(this.#file.fd, chunk, 0, length, start, (error, bytesRead) => {
      this.#isReading = false
      if (this.#isOver) this.#closeFile()
      else if (error !== null) this.#fail('STATIC_READ_FAILED', error)
      else if (bytesRead === 0) this.#fail('STATIC_FILE_CHANGED')
      else this.#took(chunk, bytesRead, start, length)
    })
  }

  #took(chunk: Buffer, bytesRead: number, start: number, length: number): void {
    if (bytesRead < length) this.#pieces.unshift({ start: start + bytesRead, end: start + length - 1 })
    // Looked at before the last byte goes out: after it the client would take the response for complete.
    const hasMore = this.#pieces.some((piece) => !(piece instanceof Uint8Array))
    if (!hasMore && contentStateOf(fstatSync(this.#file.fd, { bigint: true })) !== this.#contentState) {
      this.#fail('STATIC_FILE_CHANGED')
      return
    }
    this.#write(chunk.subarray(0, bytesRead), chunk.byteLength < CHUNK_BYTES ? undefined : () => blocks.give(chunk))
    this.#advance()
  }

  /** The engine may hold the bytes until the socket takes them. */
  #write(chunk: Uint8Array, onUnused?: () => void): void {
    this.#isWaiting = this.#writer?.write(chunk, onUnused) === false
  }

  #finish(): void {
    this.#isOver = true
    this.#closeFile()
    this.#writer?.end()
  }

  #fail(code: 'STATIC_FILE_CHANGED' | 'STATIC_READ_FAILED', cause?: unknown): void {
    this.#isOver = true
    this.#closeFile()
    this.#writer?.abort()
    const what = code === 'STATIC_FILE_CHANGED' ? 'changed while it was being sent' : 'could not be read to the end'
    this.#onProblem(new StaticError(code, `a file ${what}`, cause === undefined ? {} : { cause: asError(cause) }))
  }

  /** Not while a read is in flight: its descriptor could by then belong to another file. */
  #closeFile(): void {
    if (this.#isClosed || this.#isReading) return
    this.#isClosed = true
    closeSync(this.#file.fd)
  }
}
