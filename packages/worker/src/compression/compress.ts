import type { Transform } from 'node:stream'
import type { BodyWriter, CompleteResponse, ResponseHead } from '@svc/http'
import { type CodedRequest, chooseCoding, codedHead, withVary } from './coding-choice.ts'
import type { CompressionTerms } from './compression-terms.ts'
import { createEncoder, type Encode, encodeWhole } from './encoders.ts'

/** Bytes waiting for the encoder past which the writer of the body is told to wait. */
const HIGH_WATER_BYTES = 64 * 1024

/** Smaller bodies are sent as they are: they fit into one packet either way. */
const MIN_BYTES = 1024

/** A stream that may be compressed. */
interface CodedStream {
  /** Undefined: it is not known. HEAD has the fields of GET. */
  readonly length: number | undefined
  /** Sends the final head and returns the writer below; `isCoded`: the body is not as long as it was. */
  readonly open: (head: ResponseHead, isCoded: boolean) => BodyWriter
}

/**
 * Opens a streamed response and compresses the written bytes, as its request accepts. Written bytes reach the client
 * without waiting for more.
 * @param terms see `chooseCoding`
 */
export function compressStream(
  request: CodedRequest,
  head: ResponseHead,
  terms: CompressionTerms | undefined,
  { length, open }: CodedStream,
): BodyWriter {
  const isSmall = length !== undefined && length < (terms?.minBytes ?? MIN_BYTES)
  const coding = isSmall ? undefined : chooseCoding(request, head, terms)
  if (coding === undefined) return open(head, false)
  if (coding === 'identity') return open(withVary(head, terms), false)
  const writer = open(codedHead(head, coding, terms), true)
  return request.method === 'HEAD' ? writer : new CompressingWriter(writer, createEncoder(coding))
}

/**
 * Passes a body through an encoder. Bytes written while the encoder works go in as one piece when it is done: each piece
 * costs a flush, and so a slow encoder makes fewer of them.
 */
class CompressingWriter implements BodyWriter {
  readonly #writer: BodyWriter
  readonly #encoder: Transform
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  #isEncoding = false
  #isBlocked = false
  #isEnded = false
  #isOver = false
  #mustNotify = false
  #onDrain: (() => void) | undefined

  constructor(writer: BodyWriter, encoder: Transform) {
    this.#writer = writer
    this.#encoder = encoder
    encoder.on('data', (chunk: Uint8Array) => {
      if (!writer.write(chunk)) this.#isBlocked = true
    })
    encoder.on('end', () => {
      this.#isOver = true
      writer.end()
    })
    encoder.on('error', () => this.abort())
    writer.onDrain(() => {
      this.#isBlocked = false
      this.#pump()
    })
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isEnded || this.#isOver || chunk.byteLength === 0) return true
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.byteLength
    this.#pump()
    const mayGoOn = !this.#isBlocked && this.#pendingBytes < HIGH_WATER_BYTES
    if (!mayGoOn) this.#mustNotify = true
    return mayGoOn
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  end(chunk?: Uint8Array): void {
    if (this.#isEnded) return
    if (chunk !== undefined) this.write(chunk)
    this.#isEnded = true
    this.#pump()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pending = []
    this.#encoder.destroy()
    this.#writer.abort()
  }

  #pump(): void {
    if (this.#isOver || this.#isEncoding || this.#isBlocked) return
    if (this.#pending.length > 0) this.#encode()
    else if (this.#isEnded) {
      // The encoder stays busy to its end; a response can still be cut until then.
      this.#isEncoding = true
      this.#encoder.end()
    }
    this.#notify()
  }

  #encode(): void {
    const [first] = this.#pending
    const piece = this.#pending.length === 1 && first !== undefined ? first : Buffer.concat(this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    this.#isEncoding = true
    this.#encoder.write(piece, () => {
      this.#isEncoding = false
      this.#pump()
    })
  }

  #notify(): void {
    if (!this.#mustNotify || this.#isOver) return
    this.#mustNotify = false
    this.#onDrain?.()
  }
}

/**
 * Compresses a complete response as its request accepts. Answers at once when there is nothing to compress. For HEAD pass the
 * body as for GET, so that the fields are the same. A body that does not get smaller is sent as it is.
 * @param terms see `chooseCoding`
 * @param encode may know the body compressed already
 */
export function compressComplete(
  request: CodedRequest,
  head: ResponseHead,
  body: Uint8Array,
  terms: CompressionTerms | undefined,
  encode: Encode = encodeWhole,
): CompleteResponse | Promise<CompleteResponse> {
  const coding = body.byteLength < (terms?.minBytes ?? MIN_BYTES) ? undefined : chooseCoding(request, head, terms)
  if (coding === undefined) return { head, body }
  const plain = { head: withVary(head, terms), body }
  if (coding === 'identity') return plain
  return encode(coding, body).then((smaller) =>
    smaller.byteLength >= body.byteLength ? plain : { head: codedHead(head, coding, terms), body: smaller },
  )
}
