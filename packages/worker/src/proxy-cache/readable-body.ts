import type { FileHandle } from 'node:fs/promises'
import { readPart } from '@svc/cache'

/** The state of a body at a reader's offset: bytes, now or later; that more will come; that there is no more; or that it broke off. */
export type BodyPart = Uint8Array | Promise<Uint8Array> | 'later' | 'end' | Error

/** A body that may be read by several at once, each at its own speed. */
export interface ReadableBody {
  /** Bytes from `position` on; never none. They must not be changed. */
  read(position: number, maxBytes: number): BodyPart
  /** Begins to read. `wake`: called when there may be more after `later`. */
  attach(reader: BodyPosition): void
  /** Ends it, however far it came. */
  detach(reader: BodyPosition): void
  /** A reader has come further. */
  advanced(): void
}

/** The offset of a reader. */
export interface BodyPosition {
  position: number
  wake(): void
  /** Gives it no more. */
  cut(error: Error): void
}

/** The body of an entry in a file, which one client reads. */
export class FileBody implements ReadableBody {
  readonly #file: FileHandle
  readonly #bytes: number

  constructor(file: FileHandle, bytes: number) {
    this.#file = file
    this.#bytes = bytes
  }

  read(position: number, maxBytes: number): BodyPart {
    return position >= this.#bytes ? 'end' : readPart(this.#file, position, Math.min(maxBytes, this.#bytes - position))
  }

  attach(): void {
    // It is all there.
  }

  detach(): void {
    // A file that cannot be closed is not reported: it was read to its end, or is no longer needed.
    this.#file.close().catch(() => undefined)
  }

  advanced(): void {
    // It keeps nothing for its reader.
  }
}
