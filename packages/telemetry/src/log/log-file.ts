import { close, constants, fstat, ftruncate, open, write } from 'node:fs'
import { promisify } from 'node:util'
import type { ByteSink, Written } from './byte-sink.ts'

const openFile = promisify(open)
const closeFile = promisify(close)
const statFile = promisify(fstat)
const truncateFile = promisify(ftruncate)

/** No link at the end of the path: a user who may write to the directory could lead the server to another file. No pipe blocks it. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
/** Further limited by the umask. A file that exists keeps its mode. */
const MODE = 0o640
const MAX_WRITE_BYTES = 256 * 1024
const NEWLINE = 0x0a

const CLOSED = -1

/** Everything has been written by now, or has failed to be. */
function closeQuietly(fd: number): void {
  close(fd, () => undefined)
}

async function openLog(path: string): Promise<number> {
  const fd = await openFile(path, FLAGS, MODE)
  if ((await statFile(fd)).isFile()) return fd
  await closeFile(fd)
  throw Object.assign(new Error('it is not a regular file'), { code: 'ENOTREG' })
}

/**
 * A log file that this process alone writes to, in whole lines: those that a full disk cuts are removed again. Errors of the system
 * are passed on as they are.
 */
export class LogFile implements ByteSink {
  readonly path: string
  readonly maxBytes = MAX_WRITE_BYTES
  #fd: number
  /** A write is in flight. */
  #isBusy = false
  #isClosed = false
  /** Takes the place of the open file after the write in flight. */
  #next: number | undefined

  private constructor(path: string, fd: number) {
    this.path = path
    this.#fd = fd
  }

  /** Opens the file for appending, and creates it if it is missing. @throws the error of the system */
  static async open(path: string): Promise<LogFile> {
    return new LogFile(path, await openLog(path))
  }

  write(bytes: Buffer, done: Written): void {
    this.#isBusy = true
    write(this.#fd, bytes, 0, bytes.byteLength, null, (error, written) => {
      if (error !== null) this.#written(done, error, 0)
      else if (written === bytes.byteLength) this.#written(done, null, written)
      else this.#cutBack(bytes, written, done)
    })
  }

  /** Opens the path again. The old file is closed after the write in flight; if the path cannot be opened, it stays. */
  async reopen(): Promise<void> {
    const fd = await openLog(this.path)
    if (this.#isClosed) return closeFile(fd)
    if (this.#next !== undefined) await closeFile(this.#next)
    this.#next = fd
    if (!this.#isBusy) this.#settle()
  }

  close(): void {
    this.#isClosed = true
    if (!this.#isBusy) this.#settle()
  }

  #written(done: Written, error: NodeJS.ErrnoException | null, bytes: number): void {
    this.#isBusy = false
    this.#settle()
    done(error, bytes)
  }

  /** Removes the part of a line that was written last, so that the line can be written whole. */
  #cutBack(bytes: Buffer, written: number, done: Written): void {
    const whole = bytes.lastIndexOf(NEWLINE, written - 1) + 1
    const cut = async () => {
      const { size } = await statFile(this.#fd)
      await truncateFile(this.#fd, Math.max(0, size - (written - whole)))
    }
    const full = Object.assign(new Error('only a part was written'), { code: 'ENOSPC' })
    cut().then(
      () => (whole > 0 ? this.#written(done, null, whole) : this.#written(done, full, 0)),
      (error) => this.#written(done, error, 0),
    )
  }

  /** To be called while no write is in flight. */
  #settle(): void {
    if (this.#next !== undefined) {
      closeQuietly(this.#fd)
      this.#fd = this.#next
      this.#next = undefined
    }
    if (!this.#isClosed || this.#fd === CLOSED) return
    closeQuietly(this.#fd)
    this.#fd = CLOSED
  }
}
