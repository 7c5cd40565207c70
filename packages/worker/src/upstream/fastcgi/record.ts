/** Types of records (FastCGI 1.0, section 8). */
export const RECORD = {
  beginRequest: 1,
  abortRequest: 2,
  endRequest: 3,
  params: 4,
  stdin: 5,
  stdout: 6,
  stderr: 7,
} as const

/** Bytes in front of the content of a record. */
export const RECORD_HEAD_BYTES = 8
/** Longest content of one record that is written: the most that there can be, less what keeps eight bytes aligned. */
export const MAX_CONTENT_BYTES = 65_528
/** The one request of a connection: none is multiplexed. */
export const REQUEST_ID = 1

const VERSION = 1
const ROLE_RESPONDER = 1
const KEEP_CONNECTION = 1
/** Lengths from here on take four bytes. */
const LONG_LENGTH = 0x80
const LONG_MARK = 0x80_00_00_00

/** A name of a parameter with its value, one character for each byte. */
export type Param = readonly [name: string, value: string]

/** Writes the head of a record. `length` of its content, at most 65535; nothing is padded. */
export function recordHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(RECORD_HEAD_BYTES)
  writeHead(head, 0, type, length)
  return head
}

/** What a request begins with: BEGIN_REQUEST as responder, and all of PARAMS. */
export function requestBeginning(params: readonly Param[], keepsConnection: boolean): Buffer {
  const content = encodeParams(params)
  const records = Math.ceil(content.byteLength / MAX_CONTENT_BYTES)
  const result = Buffer.alloc(RECORD_HEAD_BYTES * (records + 3) + content.byteLength)
  writeHead(result, 0, RECORD.beginRequest, RECORD_HEAD_BYTES)
  result.writeUInt16BE(ROLE_RESPONDER, RECORD_HEAD_BYTES)
  result[RECORD_HEAD_BYTES + 2] = keepsConnection ? KEEP_CONNECTION : 0
  let at = RECORD_HEAD_BYTES * 2
  for (let from = 0; from < content.byteLength; from += MAX_CONTENT_BYTES) {
    const length = Math.min(MAX_CONTENT_BYTES, content.byteLength - from)
    writeHead(result, at, RECORD.params, length)
    content.copy(result, at + RECORD_HEAD_BYTES, from, from + length)
    at += RECORD_HEAD_BYTES + length
  }
  writeHead(result, at, RECORD.params, 0)
  return result
}

/** Name-value pairs (section 3.4). */
export function encodeParams(params: readonly Param[]): Buffer {
  let total = 0
  for (const [name, value] of params) total += lengthBytes(name) + lengthBytes(value) + name.length + value.length
  const result = Buffer.allocUnsafe(total)
  let at = 0
  for (const [name, value] of params) {
    at = writeLength(result, at, name.length)
    at = writeLength(result, at, value.length)
    at += result.write(name, at, 'latin1')
    at += result.write(value, at, 'latin1')
  }
  return result
}

function writeHead(target: Buffer, at: number, type: number, length: number): void {
  target[at] = VERSION
  target[at + 1] = type
  target.writeUInt16BE(REQUEST_ID, at + 2)
  target.writeUInt16BE(length, at + 4)
}

function lengthBytes({ length }: string): number {
  return length < LONG_LENGTH ? 1 : 4
}

function writeLength(target: Buffer, at: number, length: number): number {
  return length < LONG_LENGTH ? target.writeUInt8(length, at) : target.writeUInt32BE(LONG_MARK + length, at)
}
