import { escapedText } from './combined-line.ts'

/** Longer values are cut: heads of requests may be larger than a line may be. */
const MAX_VALUE_CHARS = 8 * 1024
/** A format may have any number of values. */
const MAX_LINE_CHARS = 64 * 1024

/** Writes the values of a log format of a vhost file, one character for each byte, and the line that they are in. */
export interface LogWriter {
  /** A value. */
  value(value: string): string
  /** In place of a value that is not there. */
  readonly missing: string
  /** The line, which ends in a newline then. */
  line(text: string): string
}

const cut = (value: string) => (value.length > MAX_VALUE_CHARS ? value.slice(0, MAX_VALUE_CHARS) : value)

const hex = (char: string, digits: number) => char.charCodeAt(0).toString(16).padStart(digits, '0')

/** As text; bytes that are not UTF-8 become U+FFFD, and characters that end a line for some readers are escaped. */
function lineOf(bytes: string): string {
  const text = Buffer.from(bytes.length > MAX_LINE_CHARS ? bytes.slice(0, MAX_LINE_CHARS) : bytes, 'latin1').toString('utf8')
  return `${text.replace(/[\x80-\x9f\u2028\u2029]/g, (char) => `\\u${hex(char, 4)}`)}\n`
}

/** A control character would end a line. */
function rawText(value: string): string {
  return cut(value).replace(/[^ -~\x80-\xff]/g, (char) => `\\x${hex(char, 2).toUpperCase()}`)
}

const JSON_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
}

function jsonText(value: string): string {
  return cut(value).replace(/["\\]|[^ -~\x80-\xff]/g, (char) => JSON_ESCAPES[char] ?? `\\u${hex(char, 4).toUpperCase()}`)
}

const writers: Readonly<Record<'default' | 'json' | 'none', LogWriter>> = {
  default: { value: (value) => escapedText(cut(value)), missing: '-', line: lineOf },
  json: { value: jsonText, missing: '', line: lineOf },
  none: { value: rawText, missing: '', line: lineOf },
}

/** The writer of values for `escape=`. */
export function formatterOf(kind: 'default' | 'json' | 'none'): LogWriter {
  return writers[kind]
}
