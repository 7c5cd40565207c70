import { randomUUID } from 'node:crypto'
import { close, closeSync, mkdirSync, openSync, read, unlinkSync, write, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const readInto = promisify(read)
const writeFrom = promisify(write)
/** Usual for the files of bodies: no other user reads them. */
const MODE = 0o600

/** A file that takes the bytes of a body which are too many for memory. One that is closed ends the calls in flight first. */
export interface BodyFile {
  /**
   * Writes bytes at an offset. False: there is no room for them. A promise: they must not change until it settles, and no other
   * write begins. Throws or rejects with the error of the file system.
   */
  write(bytes: Uint8Array, at: number): boolean | Promise<boolean>
  /** Reads from an offset, as much as fits. Resolves with 0 behind the end. */
  read(into: Uint8Array, at: number): Promise<number>
  /** Frees it. Never throws. */
  close(): unknown
}

/** A file without a name: it goes with its process. */
export class SpoolFile implements BodyFile {
  readonly #fd: number
  readonly #isBlocking: boolean
  /** Calls in flight: once the descriptor is closed, its number may be another file's. */
  #pending = 0
  #isClosed = false

  private constructor(fd: number, isBlocking: boolean) {
    this.#fd = fd
    this.#isBlocking = isBlocking
  }

  /**
   * Makes a file.
   * @param dir made when it is not there
   * @param isBlocking true: a write is done when it returns, where a sender cannot be stopped in this turn
   * @throws the error of the file system
   */
  static open(dir: string, isBlocking: boolean): SpoolFile {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, randomUUID())
    const fd = openSync(path, 'wx+', MODE)
    try {
      unlinkSync(path)
    } catch (error) {
      closeSync(fd)
      throw error
    }
    return new SpoolFile(fd, isBlocking)
  }

  write(bytes: Uint8Array, at: number): boolean | Promise<boolean> {
    if (!this.#isBlocking) return this.#during(this.#writeLater(bytes, at))
    for (let done = 0; done < bytes.byteLength; ) {
      done += writeSync(this.#fd, bytes, done, bytes.byteLength - done, at + done)
    }
    return true
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return this.#during(readInto(this.#fd, into, 0, into.byteLength, at).then(({ bytesRead }) => bytesRead))
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#pending === 0) this.#release()
  }

  async #writeLater(bytes: Uint8Array, at: number): Promise<boolean> {
    for (let done = 0; done < bytes.byteLength; ) {
      done += (await writeFrom(this.#fd, bytes, done, bytes.byteLength - done, at + done)).bytesWritten
    }
    return true
  }

  async #during<Value>(call: Promise<Value>): Promise<Value> {
    this.#pending++
    try {
      return await call
    } finally {
      if (--this.#pending === 0 && this.#isClosed) this.#release()
    }
  }

  #release(): void {
    // Not at once: to free a large file takes time. One without a name has nothing to lose by failing.
    close(this.#fd, () => undefined)
  }
}

/** The part of a body that is in its file, from some byte of the body on. */
export class FilePart<File extends BodyFile> {
  /** The byte of the body behind the part. */
  to = 0
  readonly #open: () => File | Promise<File>
  #file: File | undefined
  /** The byte of the body at the beginning of the file. */
  #base = 0

  /** @param open begins the file, when the first bytes are written */
  constructor(open: () => File | Promise<File>) {
    this.#open = open
  }

  get file(): File | undefined {
    return this.#file
  }

  /** Takes over a file with the first bytes of the body. */
  hold(file: File, bytes: number): void {
    this.#file = file
    this.to = bytes
  }

  /** Forgets the bytes of the file: the next ones are written at its beginning. */
  restart(position: number): void {
    this.to = position
    this.#base = position
  }

  /** Writes the bytes of a piece behind the part; the caller sets `to` once they are written. @see BodyFile.write */
  write({ start, memory, usedBytes }: { readonly start: number; readonly memory: Uint8Array; readonly usedBytes: number }) {
    const bytes = memory.subarray(this.to - start, usedBytes)
    const at = this.to - this.#base
    const write = (file: File) => {
      this.#file = file
      return file.write(bytes, at)
    }
    const file = this.#file ?? this.#open()
    return file instanceof Promise ? file.then(write) : write(file)
  }

  /** Reads bytes of the part. @see BodyFile.read */
  read(into: Uint8Array, position: number): Promise<number> {
    return this.#file?.read(into, position - this.#base) ?? Promise.resolve(0)
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }
}
