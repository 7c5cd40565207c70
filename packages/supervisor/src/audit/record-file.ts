import { type FileHandle, open, rename } from 'node:fs/promises'
import { codeOf } from '@svc/core'

const PRIVATE = 0o600
const CHUNK_BYTES = 64 * 1024
const NEWLINE = 0x0a

/**
 * A file of JSON lines that grows to a bound and is then replaced: the file before it is kept as well, so that at least half of the
 * bound is always there. Lines are found again after a crash; one that was written in part is left out.
 */
export class RecordFile {
  readonly #path: string
  readonly #maxBytes: number
  #handle: FileHandle | undefined
  #bytes = 0
  #queue: Promise<unknown> = Promise.resolve()

  /** @param maxBytes of both files together */
  constructor(path: string, maxBytes: number) {
    this.#path = path
    this.#maxBytes = maxBytes
  }

  /** Resolves when the operating system has the line: it outlives this process. */
  append(line: string): Promise<void> {
    return this.#inTurn(async () => {
      const bytes = Buffer.from(`${line}\n`)
      if (this.#handle !== undefined && this.#bytes + bytes.byteLength > this.#maxBytes / 2) await this.#replace()
      const handle = await this.#open()
      try {
        await handle.appendFile(bytes)
      } catch (error) {
        // A part of the line may be in the file: opening it again ends that line.
        await this.#closeHandle()
        throw error
      }
      this.#bytes += bytes.byteLength
    })
  }

  /** The lines from the newest to the oldest. */
  async *newestFirst(): AsyncGenerator<string, void, undefined> {
    await this.#inTurn(async () => undefined)
    for (const path of [this.#path, `${this.#path}.1`]) yield* linesBackwards(path)
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#closeHandle())
  }

  #inTurn<Value>(act: () => Promise<Value>): Promise<Value> {
    const turn = this.#queue.then(act)
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  async #open(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle
    const handle = await open(this.#path, 'a+', PRIVATE)
    const { size } = await handle.stat()
    this.#handle = handle
    this.#bytes = size
    // A crash, or a full disk, can have left a line without its end.
    if (size > 0 && (await lastByte(handle, size)) !== NEWLINE) {
      await handle.appendFile('\n')
      this.#bytes++
    }
    return handle
  }

  async #replace(): Promise<void> {
    await this.#closeHandle()
    await rename(this.#path, `${this.#path}.1`)
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }
}

async function lastByte(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0]
}

async function* linesBackwards(path: string): AsyncGenerator<string, void, undefined> {
  const handle = await open(path, 'r').catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (handle === undefined) return
  try {
    let end = (await handle.stat()).size
    let rest: Buffer = Buffer.alloc(0)
    while (end > 0) {
      const start = Math.max(0, end - CHUNK_BYTES)
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start)
      const text = Buffer.concat([buffer.subarray(0, bytesRead), rest])
      const first = start === 0 ? 0 : text.indexOf(NEWLINE) + 1
      // Without the end of a line in it the chunk belongs to a line that began earlier.
      if (start > 0 && first === 0) {
        rest = text
      } else {
        rest = text.subarray(0, first)
        yield* text.subarray(first).toString('utf8').split('\n').reverse().filter(Boolean)
      }
      end = start
    }
  } finally {
    await handle.close()
  }
}
