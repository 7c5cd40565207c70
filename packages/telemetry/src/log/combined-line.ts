import { type AccessEntry, MAX_VALUE_CHARS, withoutQuery } from './access-entry.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const LAST_PRINTABLE = 0x7e

function isPlain(code: number): boolean {
  return code >= FIRST_PRINTABLE && code <= LAST_PRINTABLE && code !== QUOTE && code !== BACKSLASH
}

function escapedByte(byte: number): string {
  return isPlain(byte) ? String.fromCharCode(byte) : `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Quotes, backslashes, control characters and all beyond ASCII as `\xXX`, like nginx: no value can end its field or its line. */
export function escapedText(value: string): string {
  const end = value.length
  let isWhole = true
  for (let i = 0; i < end && isWhole; i++) isWhole = isPlain(value.charCodeAt(i))
  if (isWhole) return value
  // Values of fields are bytes, one in each character; others are text.
  let isText = false
  for (let i = 0; i < end; i++) isText ||= value.charCodeAt(i) > 0xff
  return Array.from(Buffer.from(value, isText ? 'utf8' : 'latin1'), escapedByte).join('')
}

/** The same, cut if it is long. */
function escaped(value: string): string {
  return escapedText(value.length > MAX_VALUE_CHARS ? value.slice(0, MAX_VALUE_CHARS) : value)
}

function orDash(value: string): string {
  return value === '' ? '-' : escaped(value)
}

/** Referrers are logged as their origin: paths and queries of other servers may have secrets in them. */
function originOf(referrer: string): string {
  const host = referrer.indexOf('://')
  if (host === -1) return ''
  let end = host + 3
  while (end < referrer.length && !'/?#'.includes(referrer.charAt(end))) end++
  // Credentials before the host stay out of the log.
  const user = referrer.lastIndexOf('@', end)
  return user > host ? referrer.slice(0, host + 3) + referrer.slice(user + 1, end) : referrer.slice(0, end)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** Local time as in `[10/Oct/2026:13:55:36 +0200]`, without the brackets. */
function localTime(ms: number): string {
  const time = new Date(ms)
  const offset = -time.getTimezoneOffset()
  const zone = Math.abs(offset)
  const date = `${two(time.getDate())}/${MONTHS[time.getMonth()]}/${time.getFullYear()}`
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
  return `${date}:${clock} ${offset < 0 ? '-' : '+'}${two(Math.floor(zone / 60))}${two(zone % 60)}`
}

/** Formats times, remembering the last one: all requests of one second share its text. */
function localClock(): (ms: number) => string {
  let lastSecond = -1
  let last = ''
  return (ms) => {
    const second = Math.floor(ms / 1000)
    if (second !== lastSecond) {
      lastSecond = second
      last = localTime(ms)
    }
    return last
  }
}

/**
 * Makes the formatter of the common log format, or of the combined one, which has referrer and user agent as well. The time is that of
 * the end of the request, as in nginx. The user is always "-".
 */
export function createCombinedFormatter(format: 'common' | 'combined'): (entry: AccessEntry) => string {
  const timeOf = localClock()
  const common = (entry: AccessEntry) => {
    const version = entry.httpVersion === '2' ? '2.0' : entry.httpVersion
    const request = `${escaped(entry.method)} ${escaped(withoutQuery(entry.path))} HTTP/${version}`
    return `${orDash(entry.client)} - - [${timeOf(entry.startedAt + entry.durationMs)}] "${request}" ${entry.status} ${entry.bytes}`
  }
  return format === 'common'
    ? (entry) => `${common(entry)}\n`
    : (entry) => `${common(entry)} "${orDash(originOf(entry.referrer))}" "${orDash(entry.userAgent)}"\n`
}
