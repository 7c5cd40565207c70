import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { asError } from '@svc/core'
import type { RequestBody } from '@svc/http'

/** Bytes kept in memory for each request in flight; longer bodies go to a file. */
const MAX_MEMORY_BYTES = 64 * 1024
const READ_BYTES = 64 * 1024

/** A request body that has come whole. */
export interface SpooledBody extends RequestBody {
  readonly length: number
  /** Frees what it takes. To be called once it has no reader any more. */
  close(): Promise<void>
}

/**
 * Takes in a whole body: in memory, or, when it is long, in a file that has no name any more.
 * @param dir for the file; made when it is not there
 * @throws the error that ends the body early, or that of the file system
 */
export async function spoolBody(body: RequestBody, dir: string): Promise<SpooledBody> {
  const chunks: Uint8Array[] = []
  let length = 0
  let file: FileHandle | undefined
  /** Chunks to write, in order. */
  let writing = Promise.resolve()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const write = async (chunk: Uint8Array): Promise<void> => {
    file ??= await openNameless(dir)
    for (const bytes of [...chunks.splice(0), chunk]) await writeAll(file, bytes)
  }
  body.read(
    (chunk, ack) => {
      length += chunk.byteLength
      if (length <= MAX_MEMORY_BYTES) {
        chunks.push(chunk)
        ack()
        return
      }
      writing = writing.then(() => write(chunk))
      writing.then(
        () => ack(true),
        (error) => {
          reject(asError(error))
          ack()
        },
      )
    },
    (error) => {
      if (error === undefined) resolve(writing)
      else reject(error)
    },
  )
  try {
    await promise
  } catch (error) {
    await writing.catch(() => undefined)
    await file?.close()
    throw error
  }
  return file === undefined ? new MemoryBody(chunks, length) : new FileBody(file, length)
}

async function openNameless(dir: string): Promise<FileHandle> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, randomUUID())
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, from)
    from += bytesWritten
  }
}

class MemoryBody implements SpooledBody {
  readonly isPresent = true
  readonly length: number
  readonly #chunks: readonly Uint8Array[]

  constructor(chunks: readonly Uint8Array[], length: number) {
    this.#chunks = chunks
    this.length = length
  }

  read(onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void): void {
    // At most `MAX_MEMORY_BYTES`: the receiver may have them at once.
    for (const chunk of this.#chunks) onChunk(chunk, () => undefined)
    onEnd(undefined)
  }

  async close(): Promise<void> {
    // Memory goes by itself.
  }
}

class FileBody implements SpooledBody {
  readonly isPresent = true
  readonly length: number
  readonly #file: FileHandle
  #closing: Promise<void> | undefined

  constructor(file: FileHandle, length: number) {
    this.#file = file
    this.length = length
  }

  read(onChunk: (chunk: Uint8Array, ack: () => void) => void, onEnd: (error: Error | undefined) => void): void {
    this.#readAll(onChunk).then(
      () => onEnd(undefined),
      (error) => onEnd(asError(error)),
    )
  }

  close(): Promise<void> {
    this.#closing ??= this.#file.close()
    return this.#closing
  }

  async #readAll(onChunk: (chunk: Uint8Array, ack: () => void) => void): Promise<void> {
    for (let position = 0; position < this.length; ) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.length - position))
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.byteLength, position)
      if (bytesRead === 0) return
      position += bytesRead
      await new Promise<void>((resolve) => onChunk(buffer.subarray(0, bytesRead), resolve))
    }
  }
}
