import { randomUUID } from 'node:crypto'
import { close, closeSync, mkdirSync, openSync, read, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { HttpError } from '../errors/errors.ts'

/** Told how reading ends: with how many bytes, or why there are none. */
type OnRead = (outcome: number | Error) => void

/**
 * Bytes in a file that has no name any more: appended at once, read back in order. It restarts at 0 when all is read, so it is never longer
 * than what was in it at one time.
 */
export class SpoolFile {
  readonly #fd: number
  #readAt = 0
  #writeAt = 0
  #isReading = false
  #isClosed = false

  private constructor(fd: number) {
    this.#fd = fd
  }

  /**
   * Makes a file.
   * @param dir made when it is not there
   * @throws what the file system says
   */
  static open(dir: string): SpoolFile {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, randomUUID())
    const fd = openSync(path, 'wx+', 0o600)
    try {
      unlinkSync(path)
    } catch (error) {
      closeSync(fd)
      throw error
    }
    return new SpoolFile(fd)
  }

  /** Bytes that are not read yet. */
  get bytes(): number {
    return this.#writeAt - this.#readAt
  }

  get isReading(): boolean {
    return this.#isReading
  }

  /**
   * Writes bytes behind the others, and returns when that is done.
   * @throws what the file system says, e.g. ENOSPC
   */
  append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.byteLength; ) {
      const written = writeSync(this.#fd, bytes, from, bytes.byteLength - from, this.#writeAt)
      from += written
      this.#writeAt += written
    }
  }

  /** Reads the next bytes, as many as are there and fit. One call at a time; not called back once it is closed. */
  read(into: Uint8Array, onRead: OnRead): void {
    this.#isReading = true
    read(this.#fd, into, 0, Math.min(into.byteLength, this.bytes), this.#readAt, (error, length) => {
      this.#isReading = false
      if (this.#isClosed) this.#release()
      else if (error !== null) onRead(error)
      else if (length === 0) onRead(new HttpError('ENGINE_BODY_LOST', 'the file of a spooled body was truncated'))
      else this.#advance(length, onRead)
    })
  }

  /** Frees what it takes, on disk too. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // The number of the file could be another file's before the read begins.
    if (!this.#isReading) this.#release()
  }

  #advance(length: number, onRead: OnRead): void {
    this.#readAt += length
    if (this.bytes === 0) {
      this.#readAt = 0
      this.#writeAt = 0
    }
    onRead(length)
  }

  #release(): void {
    // Not at once: to free a large file takes time. One without a name has nothing to lose by failing.
    close(this.#fd, () => undefined)
  }
}
