import { CONNECTION_FIELDS, type HeaderList, isDigits, isToken } from '@svc/http'

/** How the body of a response is delimited (RFC 9112 section 6.3), if it has one at all. */
export type Framing = number | 'chunked' | 'until-close'

/** Why a response, or a part of it, is refused. */
export interface Refused {
  readonly problem: string
}

/** The head of a response as it came, with its parsed connection fields. */
export interface AnswerHead {
  readonly status: number
  /** Names in lower case, without fields of the connection and of the framing. Frozen. */
  readonly headers: HeaderList
  readonly framing: Framing
  /** True if the server keeps the connection. */
  readonly keepsAlive: boolean
  /** How long the server keeps an idle connection, as it says, in milliseconds. */
  readonly keepAliveMs: number | undefined
}

const MAX_LENGTH_DIGITS = 15

/** Fields that belong to one connection, or that tell its end of a message. */
const HOP_FIELDS: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, 'content-length'])

/** True if a field (lower-case name) is never passed on from one connection to another. */
export function isConnectionField(name: string): boolean {
  return HOP_FIELDS.has(name)
}

const noOptions: ReadonlySet<string> = new Set()

/** The options of a Connection field, in lower case: names of fields that belong to the connection, and `close` or `keep-alive`. */
export function connectionOptions(value: string): ReadonlySet<string> {
  return value === ''
    ? noOptions
    : new Set(
        value
          .toLowerCase()
          .split(',')
          .map((option) => option.trim()),
      )
}

/**
 * Parses the head of a response, from its first character to its last field, without the empty line. Input that two parsers could read
 * differently is refused.
 */
export function parseAnswerHead(text: string): AnswerHead | Refused {
  const lineEnd = text.indexOf('\r\n')
  const statusLine = lineEnd === -1 ? text : text.slice(0, lineEnd)
  const status = parseStatusLine(statusLine)
  if (status === undefined) return { problem: 'no valid status line' }
  const fields = lineEnd === -1 ? [] : parseFields(text, lineEnd + 2)
  if ('problem' in fields) return fields
  return interpret(status, statusLine.charCodeAt(7) !== 0x30, fields)
}

/** Parses field lines. Names of the result are in lower case, values without blanks around. */
export function parseFields(text: string, start: number): (readonly [string, string])[] | Refused {
  const fields: (readonly [string, string])[] = []
  for (let from = start; from < text.length; ) {
    const found = text.indexOf('\r\n', from)
    const end = found === -1 ? text.length : found
    const colon = text.indexOf(':', from)
    if (colon === -1 || colon >= end) return { problem: 'a field without a colon' }
    // Blanks before the colon go (RFC 9112 section 5.1); a folded line begins with one, and has no name then.
    const name = text.slice(from, trimmedEnd(text, from, colon)).toLowerCase()
    if (!isToken(name)) return { problem: 'an invalid field name' }
    const value = trimmed(text, colon + 1, end)
    if (!isSafeValue(value)) return { problem: 'a line break or NUL in a field value' }
    fields.push([name, value])
    from = end + 2
  }
  return fields
}

/** `HTTP/1.x NNN reason`; the reason may be missing. */
function parseStatusLine(line: string): number | undefined {
  if (!line.startsWith('HTTP/1.') || line.charCodeAt(8) !== 0x20 || !isDigits(line.charAt(7))) return undefined
  if (line.length > 12 && line.charCodeAt(12) !== 0x20) return undefined
  const digits = line.slice(9, 12)
  if (digits.length !== 3 || !isDigits(digits) || !isSafeValue(line)) return undefined
  const status = Number(digits)
  return status >= 100 && status <= 599 ? status : undefined
}

interface Said {
  length: string | undefined
  encoding: string | undefined
  connection: string
  keepAlive: string
  lengths: number
  encodings: number
}

function interpret(status: number, isHttp11: boolean, fields: HeaderList): AnswerHead | Refused {
  const said: Said = { length: undefined, encoding: undefined, connection: '', keepAlive: '', lengths: 0, encodings: 0 }
  const kept: (readonly [string, string])[] = []
  for (const field of fields) if (!hear(said, field)) kept.push(field)
  const framing = framingOf(said, isHttp11)
  if (typeof framing === 'object') return framing
  const named = connectionOptions(said.connection)
  const keepsAlive = isHttp11 ? !named.has('close') : named.has('keep-alive')
  const headers = named.size === 0 ? kept : kept.filter(([name]) => !named.has(name))
  return { status, headers: Object.freeze(headers), framing, keepsAlive, keepAliveMs: keepAliveMs(said.keepAlive) }
}

/** True if the field belongs to the connection; its value is noted. */
function hear(said: Said, [name, value]: readonly [string, string]): boolean {
  if (!HOP_FIELDS.has(name)) return false
  if (name === 'content-length') {
    said.length = value
    said.lengths++
  } else if (name === 'transfer-encoding') {
    said.encoding = value.toLowerCase()
    said.encodings++
  } else if (name === 'connection') {
    said.connection = said.connection === '' ? value : `${said.connection},${value}`
  } else if (name === 'keep-alive') {
    said.keepAlive = value
  }
  return true
}

function framingOf({ length, encoding, lengths, encodings }: Said, isHttp11: boolean): Framing | Refused {
  if (lengths > 1) return { problem: 'more than one Content-Length' }
  if (encodings > 1) return { problem: 'more than one Transfer-Encoding' }
  if (encoding !== undefined) {
    if (length !== undefined) return { problem: 'both Content-Length and Transfer-Encoding' }
    if (!isHttp11) return { problem: 'Transfer-Encoding in HTTP/1.0' }
    return encoding === 'chunked' ? 'chunked' : { problem: 'a Transfer-Encoding other than chunked' }
  }
  if (length === undefined) return 'until-close'
  if (length.length > MAX_LENGTH_DIGITS || !isDigits(length)) return { problem: 'an invalid Content-Length' }
  return Number(length)
}

function keepAliveMs(field: string): number | undefined {
  const timeout = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(field)?.[1]
  return timeout === undefined ? undefined : Number(timeout) * 1000
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function trimmedEnd(text: string, from: number, end: number): number {
  let last = end
  while (last > from && isBlank(text.charCodeAt(last - 1))) last--
  return last
}

function trimmed(text: string, from: number, end: number): string {
  let first = from
  while (first < end && isBlank(text.charCodeAt(first))) first++
  return text.slice(first, trimmedEnd(text, first, end))
}

/** Other control characters are left to the engine, which does not write them. */
function isSafeValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x0a || code === 0x0d || code === 0) return false
  }
  return true
}
