import { ReadableStream } from 'web-streams-polyfill'
import { bytesOf, concatBytes, decodeUtf8, encodeUtf8, exactBuffer, isBufferSource } from '../encoding/bytes.ts'

type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob

const typePattern = /^[\x20-\x7e]*$/

/** Bytes handed out at once by `Blob.stream`. */
const STREAM_CHUNK_BYTES = 65_536

function partBytes(part: unknown): Uint8Array {
  if (part instanceof Blob) return Blob.bytes(part)
  // Views may change later: a blob keeps its own copy.
  return isBufferSource(part) ? bytesOf(part).slice() : encodeUtf8(String(part))
}

/** File API `Blob`, held in memory. */
export class Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>
  readonly #type: string

  constructor(parts: Iterable<BlobPart> = [], options: { type?: string; endings?: string } = {}) {
    if (typeof parts !== 'object' || parts === null || !(Symbol.iterator in parts))
      throw new TypeError('Blob: parts must be a sequence')
    this.#bytes = concatBytes(Array.from(parts, partBytes))
    const type = String(options?.type ?? '')
    this.#type = typePattern.test(type) ? type.toLowerCase() : ''
  }

  get size(): number {
    return this.#bytes.byteLength
  }

  get type(): string {
    return this.#type
  }

  slice(start = 0, end = this.size, type = ''): Blob {
    return new Blob([this.#bytes.slice(start, end)], { type })
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return exactBuffer(this.#bytes.slice())
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice()
  }

  async text(): Promise<string> {
    return decodeUtf8(this.#bytes)
  }

  stream(): ReadableStream<Uint8Array> {
    const bytes = this.#bytes
    let at = 0
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + STREAM_CHUNK_BYTES))
        at += STREAM_CHUNK_BYTES
        if (at >= bytes.length) controller.close()
      },
    })
  }

  get [Symbol.toStringTag](): string {
    return 'Blob'
  }

  /** For the guest itself: the bytes, not copied. */
  static bytes(blob: Blob): Uint8Array<ArrayBuffer> {
    return blob.#bytes
  }
}

/** File API `File`. */
export class File extends Blob {
  readonly name: string
  readonly lastModified: number

  constructor(parts: Iterable<BlobPart>, name: string, options: { type?: string; lastModified?: number } = {}) {
    if (name === undefined) throw new TypeError('File needs parts and a name')
    super(parts, options)
    this.name = String(name)
    this.lastModified = options?.lastModified ?? Date.now()
  }

  get webkitRelativePath(): string {
    return ''
  }

  override get [Symbol.toStringTag](): string {
    return 'File'
  }
}
