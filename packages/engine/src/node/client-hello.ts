import type { Socket } from 'node:net'
import { readFirstBytes } from './first-bytes.ts'

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
/** Of a record: its type, version and length. */
const RECORD_HEAD = 5
/** Of a handshake message: its type and length. */
const MESSAGE_HEAD = 4
/** Version and random of a ClientHello. */
const FIXED = 34
/** A longer ClientHello has no name here: browsers send half a kilobyte to two. */
const MAX_BYTES = 16 * 1024

/** Bytes of a message whose fields are read one after the other. A field behind the end is undefined. */
class Fields {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.byteLength
  }

  /** A number of so many bytes. */
  number(bytes: number): number | undefined {
    const from = this.#at
    this.#at += bytes
    return this.#at > this.#bytes.byteLength ? undefined : this.#bytes.readUIntBE(from, bytes)
  }

  /** Bytes behind their length, which has so many bytes. */
  vector(lengthBytes: number): Buffer | undefined {
    const length = this.number(lengthBytes)
    if (length === undefined || this.#at + length > this.#bytes.byteLength) return undefined
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

/** Joins the pieces of the first handshake message. @returns undefined: it has not arrived whole; "none": it is no ClientHello */
function helloOf(bytes: Buffer): Buffer | 'none' | undefined {
  const pieces: Buffer[] = []
  let size = 0
  let wanted: number | undefined
  for (let at = 0; ; ) {
    if (at < bytes.byteLength && bytes[at] !== HANDSHAKE) return 'none'
    if (at + RECORD_HEAD > bytes.byteLength) return undefined
    const end = at + RECORD_HEAD + bytes.readUInt16BE(at + 3)
    const piece = bytes.subarray(at + RECORD_HEAD, end)
    pieces.push(piece)
    size += piece.byteLength
    if (wanted === undefined && size >= MESSAGE_HEAD) {
      const head = Buffer.concat(pieces)
      if (head[0] !== CLIENT_HELLO) return 'none'
      wanted = MESSAGE_HEAD + head.readUIntBE(1, 3)
      if (wanted > MAX_BYTES) return 'none'
    }
    if (wanted !== undefined && size >= wanted) return Buffer.concat(pieces).subarray(0, wanted)
    if (end > bytes.byteLength) return undefined
    at = end
  }
}

/**
 * Reads the server name of a ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3).
 * @param bytes of a connection, from its first on
 * @returns the name in lower case; "": there is none, or the bytes are something else; undefined: more bytes are needed
 */
export function serverNameIn(bytes: Buffer): string | undefined {
  const hello = helloOf(bytes)
  if (hello === undefined) return bytes.byteLength > MAX_BYTES ? '' : undefined
  if (hello === 'none') return ''
  const fields = new Fields(hello, MESSAGE_HEAD + FIXED)
  // Session id, cipher suites, compression methods.
  for (const lengthBytes of [1, 2, 1]) if (fields.vector(lengthBytes) === undefined) return ''
  const extensions = new Fields(fields.vector(2) ?? Buffer.alloc(0), 0)
  while (!extensions.isAtEnd) {
    const type = extensions.number(2)
    const extension = extensions.vector(2)
    if (extension === undefined) return ''
    if (type !== SERVER_NAME) continue
    const names = new Fields(new Fields(extension, 0).vector(2) ?? Buffer.alloc(0), 0)
    return names.number(1) === 0 ? (names.vector(2)?.toString('latin1').toLowerCase() ?? '') : ''
  }
  return ''
}

/**
 * Waits for the beginning of a handshake and puts it back.
 * @param isByName true if its server name is needed
 * @param onHello gets the server name, or "" for none or one that is not needed; undefined: it is no handshake
 */
export function awaitHello(
  socket: Socket,
  { timeoutMs, isByName }: { readonly timeoutMs: number; readonly isByName: boolean },
  onHello: (name: string | undefined) => void,
): void {
  const parse = (bytes: Buffer) => {
    if (bytes.byteLength === 0) return undefined
    if (bytes[0] !== HANDSHAKE) return { value: undefined, rest: bytes }
    const value = isByName ? serverNameIn(bytes) : ''
    return value === undefined ? undefined : { value, rest: bytes }
  }
  readFirstBytes(socket, timeoutMs, parse, onHello)
}
