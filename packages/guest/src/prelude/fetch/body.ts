import { ReadableStream } from 'web-streams-polyfill'
import { bytesOf, concatBytes, decodeUtf8, encodeUtf8, exactBuffer, isBufferSource } from '../encoding/bytes.ts'
import { Blob } from './blob.ts'
import { ByteQueue } from './byte-queue.ts'
import { encodeMultipart, FormData, parseMultipart } from './form-data.ts'
import { URLSearchParams } from './url.ts'

export type BodyInit =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | FormData
  | URLSearchParams
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>

type Content = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | ByteQueue | null

/** A body taken out whole where it is at hand, or as a stream. */
export type TakenBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'stream'; readonly stream: ReadableStream<Uint8Array> }

let boundaries = 0

function newBoundary(): string {
  const random = Math.random().toString(36).slice(2).padEnd(12, '0')
  return `----svcFormBoundary${random}${++boundaries}`
}

function extract(init: BodyInit): { content: Content; type: string | undefined } {
  if (typeof init === 'string') return { content: init, type: 'text/plain;charset=UTF-8' }
  if (init instanceof ReadableStream) return { content: init as ReadableStream<Uint8Array>, type: undefined }
  if (init instanceof ByteQueue) return { content: init, type: undefined }
  if (isBufferSource(init)) return { content: bytesOf(init).slice(), type: undefined }
  if (init instanceof Blob) return { content: Blob.bytes(init), type: init.type === '' ? undefined : init.type }
  if (init instanceof URLSearchParams)
    return { content: init.toString(), type: 'application/x-www-form-urlencoded;charset=UTF-8' }
  if (init instanceof FormData) {
    const boundary = newBoundary()
    return { content: encodeMultipart(init, boundary), type: `multipart/form-data; boundary=${boundary}` }
  }
  if (typeof init === 'object' && Symbol.asyncIterator in init) {
    return { content: ReadableStream.from(init) as ReadableStream<Uint8Array>, type: undefined }
  }
  return { content: String(init), type: 'text/plain;charset=UTF-8' }
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader()
  const pieces: Uint8Array[] = []
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (!(piece.value instanceof Uint8Array)) throw new TypeError('The stream of a body must give Uint8Array chunks')
    pieces.push(piece.value)
  }
  return concatBytes(pieces)
}

// The polyfill keeps what the standard calls [[disturbed]] under this name.
const isDisturbed = (stream: object) => Reflect.get(stream, '_disturbed') === true

/** Common base of `Request` and `Response` (Fetch standard, section 5.2). */
export class Body {
  #content: Content = null
  /** The stream that was given out of text, bytes or a queue. */
  #stream: ReadableStream<Uint8Array> | undefined
  #isUsed = false

  /** Sets the body. Returns the Content-Type that it implies, if any. */
  protected initBody(init: BodyInit | ByteQueue | null | undefined): string | undefined {
    if (init === null || init === undefined) return undefined
    const { content, type } = extract(init as BodyInit)
    if (content instanceof ReadableStream && (content.locked || isDisturbed(content))) {
      throw new TypeError('The stream of a body must not be locked or read')
    }
    this.#content = content
    return type
  }

  protected contentType(): string {
    return ''
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.#content === null) return null
    this.#stream ??= this.#openStream()
    return this.#stream
  }

  get bodyUsed(): boolean {
    const stream = this.#content instanceof ReadableStream ? this.#content : this.#stream
    return this.#isUsed || (stream !== undefined && isDisturbed(stream))
  }

  #openStream(): ReadableStream<Uint8Array> {
    const content = this.#content
    if (content instanceof ReadableStream) return content
    if (content instanceof ByteQueue) return content.stream()
    return new Blob(content === null ? [] : [content]).stream()
  }

  #isLocked(): boolean {
    const stream = this.#content instanceof ReadableStream ? this.#content : this.#stream
    return stream?.locked === true
  }

  #use(): void {
    if (this.bodyUsed || this.#isLocked()) throw new TypeError('Body is unusable: it has already been read')
    if (this.#content !== null) this.#isUsed = true
  }

  async #bytes(): Promise<Uint8Array<ArrayBuffer>> {
    this.#use()
    const content = this.#content
    if (content === null) return new Uint8Array(0)
    if (this.#stream !== undefined) return readAll(this.#stream)
    if (typeof content === 'string') return encodeUtf8(content)
    if (content instanceof Uint8Array) return content.slice()
    return content instanceof ByteQueue ? content.bytes() : readAll(content)
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes()
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return exactBuffer(await this.#bytes())
  }

  async blob(): Promise<Blob> {
    return new Blob([await this.#bytes()], { type: this.contentType() })
  }

  async text(): Promise<string> {
    if (typeof this.#content === 'string' && this.#stream === undefined) {
      this.#use()
      return this.#content.replace(/^\ufeff/, '').toWellFormed()
    }
    return decodeUtf8(await this.#bytes())
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }

  async formData(): Promise<FormData> {
    const type = this.contentType()
    const [essence = ''] = type.split(';')
    switch (essence.trim().toLowerCase()) {
      case 'multipart/form-data': {
        const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type)
        if (boundary === null) throw new TypeError('multipart/form-data without a boundary')
        return parseMultipart(await this.#bytes(), boundary[1] ?? boundary[2] ?? '')
      }
      case 'application/x-www-form-urlencoded': {
        const data = new FormData()
        for (const [name, value] of new URLSearchParams(await this.text())) data.append(name, value)
        return data
      }
      default:
        throw new TypeError(`A body of type "${type}" is no form data`)
    }
  }

  /** For the guest itself: makes `copy` carry the same body; a stream is split. */
  static share(from: Body, copy: Body): void {
    if (from.bodyUsed || from.#isLocked()) throw new TypeError('Body is unusable: it has already been read')
    const isPlain = from.#content === null || typeof from.#content === 'string' || from.#content instanceof Uint8Array
    if (isPlain && from.#stream === undefined) {
      copy.#content = from.#content
      return
    }
    const [one, other] = (from.body as ReadableStream<Uint8Array>).tee()
    from.#content = one
    from.#stream = undefined
    copy.#content = other
  }

  /** For the guest itself: makes `to` own the body of `from`, which counts as read. */
  static move(from: Body, to: Body): void {
    from.#use()
    to.#content = from.#stream ?? from.#content
  }

  /** For the guest itself: takes the body out in the cheapest form. Throws TypeError when it was read. */
  static take(from: Body): TakenBody {
    from.#use()
    const content = from.#content
    if (content === null) return { kind: 'none' }
    if (from.#stream === undefined && typeof content === 'string') return { kind: 'text', text: content }
    if (from.#stream === undefined && content instanceof Uint8Array) return { kind: 'bytes', bytes: content }
    return { kind: 'stream', stream: from.#stream ?? from.#openStream() }
  }
}
