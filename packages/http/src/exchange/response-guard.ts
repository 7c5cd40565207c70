import { isFieldValue, isLatin1FieldValue, isToken } from '../syntax/characters.ts'
import type { HeaderList, ResponseHead } from './http-exchange.ts'

/** Fields that belong to one connection (RFC 9110 section 7.6.1), in lower case: what they say to one peer is not meant for the next. */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Why a field of a response is not written. */
type DropReason =
  /** The name is not a token. */
  | 'bad_name'
  /** The value holds CR, LF, NUL or another control character. */
  | 'bad_value'

/** Told about each field that is dropped for what it contains, and of an invalid status (`name` is then ":status"). */
type DropListener = (name: string, reason: DropReason | 'bad_status') => void

/** Fields that describe the connection or are written by the engine. Dropped without a report. */
const engineFields: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, 'content-length', 'date'])

/**
 * Makes a response head safe to write, from any source. Returns the same object when nothing has to change. Values of the
 * result hold only characters up to U+00FF and have to be written as latin-1: text beyond that is turned into its UTF-8
 * bytes first, since cutting U+010A to a byte would make a line feed of it.
 */
export function guardResponse(head: ResponseHead, onDrop?: DropListener): ResponseHead {
  // A status that ends an exchange (RFC 9110 section 15).
  const isFinal = Number.isInteger(head.status) && head.status >= 200 && head.status <= 599
  const status = isFinal ? head.status : 500
  if (status !== head.status) onDrop?.(':status', 'bad_status')
  const headers = areClean(head.headers) ? head.headers : cleaned(head.headers, onDrop)
  return status === head.status && headers === head.headers ? head : { status, headers }
}

/** Makes fields behind a body safe to write: what may not be written is left out. */
export function guardTrailers(trailers: HeaderList): HeaderList {
  return areClean(trailers) ? trailers : cleaned(trailers, undefined)
}

/** Returns true if a field belongs to the connection or to the engine; `name` in any case. */
export function isEngineField(name: string): boolean {
  return engineFields.has(name) || engineFields.has(name.toLowerCase())
}

function areClean(headers: HeaderList): boolean {
  for (const [name, value] of headers) {
    if (isEngineField(name) || !isToken(name) || !isLatin1FieldValue(value)) return false
  }
  return true
}

function cleaned(headers: HeaderList, onDrop: DropListener | undefined): HeaderList {
  const kept: Array<readonly [string, string]> = []
  for (const [name, value] of headers) {
    if (isEngineField(name)) continue
    if (!isToken(name)) onDrop?.(name, 'bad_name')
    else if (!isFieldValue(value)) onDrop?.(name, 'bad_value')
    else kept.push([name, isLatin1FieldValue(value) ? value : Buffer.from(value, 'utf8').toString('latin1')])
  }
  return kept
}
