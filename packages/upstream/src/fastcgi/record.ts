import type { Param } from '../cgi/gateway.ts'

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
/** Longest content of one written record: the protocol's maximum, rounded down to a multiple of eight bytes. */
export const MAX_CONTENT_BYTES = 65_528
/** The one request of a connection: none is multiplexed. */
export const REQUEST_ID = 1

const VERSION = 1
const ROLE_RESPONDER = 1
const KEEP_CONNECTION = 1
/** Lengths from here on take four bytes. */
const LONG_LENGTH = 0x80
const LONG_MARK = 0x80

/** The head of a record, one character for each byte. `length` of its content, at most 65535; nothing is padded. */
export function recordHead(type: number, length: number): string {
  return String.fromCharCode(VERSION, type, 0, REQUEST_ID, length >> 8, length & 0xff, 0, 0)
}

/** The start of a request, one character for each byte: BEGIN_REQUEST as responder, and all of PARAMS. */
export function requestBeginning(params: string, keepsConnection: boolean): string {
  const flags = keepsConnection ? KEEP_CONNECTION : 0
  let text = recordHead(RECORD.beginRequest, RECORD_HEAD_BYTES) + String.fromCharCode(0, ROLE_RESPONDER, flags, 0, 0, 0, 0, 0)
  for (let from = 0; from < params.length; from += MAX_CONTENT_BYTES) {
    const content = params.slice(from, from + MAX_CONTENT_BYTES)
    text += recordHead(RECORD.params, content.length) + content
  }
  return text + recordHead(RECORD.params, 0)
}

/** Name-value pairs (section 3.4), one character for each byte. */
export function encodeParams(params: readonly Param[]): string {
  let text = ''
  for (const [name, value] of params) text += encodeLength(name.length) + encodeLength(value.length) + name + value
  return text
}

function encodeLength(length: number): string {
  if (length < LONG_LENGTH) return String.fromCharCode(length)
  return String.fromCharCode(LONG_MARK | (length >>> 24), (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff)
}
