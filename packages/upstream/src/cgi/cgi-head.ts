import { type HeaderList, isDigits } from '@svc/http'
import { type AnswerHead, isConnectionField, parseFields, type Refused } from '../http/answer-head.ts'

const OK = 200
const FOUND = 302
const MAX_LENGTH_DIGITS = 15
/** With its end. */
const STATUS_LINE = /^HTTP\/\d\.\d (\d{3})(?: [^\r]*)?(?:\r\n|$)/
const LF = 0x0a
const CR = 0x0d

/**
 * Finds the end of a CGI head: the empty line, whose end is LF or CRLF like that of the others. Begins at `from`, which is the
 * beginning of a line.
 * @returns where the empty line begins and ends; or where the last line begins, which has not come to its end
 */
export function findHeadEnd(
  bytes: Buffer,
  from: number,
): { readonly end: number; readonly next: number } | { readonly line: number } {
  let line = from
  for (;;) {
    const lineEnd = bytes.indexOf(LF, line)
    if (lineEnd === -1) return { line }
    const isEmpty = lineEnd === line || (lineEnd === line + 1 && bytes[line] === CR)
    if (isEmpty) return { end: line, next: lineEnd + 1 }
    line = lineEnd + 1
  }
}

/**
 * Parses a CGI head without its empty line (RFC 3875 section 6.3). Without Status, a Location makes 302 of it, and everything
 * else is 200. Fields of the connection are left out.
 * @param options `mayHaveStatusLine`: it may begin with a status line of HTTP, which counts before Status
 */
export function parseCgiHead(text: string, options?: { readonly mayHaveStatusLine: boolean }): AnswerHead | Refused {
  const lines = text.replaceAll(/\r?\n/g, '\r\n')
  const [line = '', code] = (options?.mayHaveStatusLine === true && STATUS_LINE.exec(lines)) || []
  const fields = line.length < lines.length || line === '' ? parseFields(lines, line.length) : []
  if ('problem' in fields) return fields
  const said = interpret(fields)
  if ('problem' in said) return said
  const { headers, length } = said
  const own = code === undefined ? said.status : statusOf(code)
  if (code !== undefined && own === undefined) return { problem: 'an invalid status line' }
  const status = own ?? (headers.some(([name]) => name === 'location') ? FOUND : OK)
  const framing = length ?? 'chunked'
  return { status, headers: Object.freeze(headers), framing, keepsAlive: true, keepAliveMs: undefined }
}

interface Said {
  headers: (readonly [string, string])[]
  status: number | undefined
  length: number | undefined
}

function interpret(fields: HeaderList): Said | Refused {
  const said: Said = { headers: [], status: undefined, length: undefined }
  for (const field of fields) {
    const [name, value] = field
    if (name === 'status') {
      said.status ??= statusOf(value)
      if (said.status === undefined) return { problem: 'an invalid Status' }
    } else if (name === 'content-length') {
      if (said.length !== undefined) return { problem: 'more than one Content-Length' }
      if (value.length > MAX_LENGTH_DIGITS || !isDigits(value)) return { problem: 'an invalid Content-Length' }
      said.length = Number(value)
    } else if (!isConnectionField(name)) {
      said.headers.push(field)
    }
  }
  return said
}

/** `404 Not Found`, or the number alone. Interim answers are not an application's. */
function statusOf(value: string): number | undefined {
  const digits = value.slice(0, 3)
  const status = digits.length === 3 && isDigits(digits) ? Number(digits) : 0
  return status >= 200 && status <= 599 ? status : undefined
}
