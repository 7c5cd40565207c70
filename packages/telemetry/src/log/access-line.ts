import { type AccessEntry, MAX_VALUE_CHARS, withoutQuery } from './access-entry.ts'
import { createCombinedFormatter } from './combined-line.ts'

/** Formats of access lines: JSON objects, text for a person, or the log formats of web servers. */
export type AccessFormat = 'json' | 'pretty' | 'common' | 'combined'

/** JSON leaves these control characters as they are; terminals obey some, and some readers end a line at others. */
function isControl(code: number): boolean {
  return (code >= 0x7f && code <= 0x9f) || code === 0x2028 || code === 0x2029
}

/** A value as JSON, cut if it is long, without control characters. */
export function quotedText(value: string): string {
  const quoted = JSON.stringify(value.length > MAX_VALUE_CHARS ? value.slice(0, MAX_VALUE_CHARS) : value)
  for (let i = 0; i < quoted.length; i++) if (isControl(quoted.charCodeAt(i))) return withEscapes(quoted)
  return quoted
}

function withEscapes(quoted: string): string {
  const hex = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return Array.from(quoted, (char) => (isControl(char.charCodeAt(0)) ? hex(char) : char)).join('')
}

/** Formats a time, remembering the last one: many requests of one millisecond share its text. */
export function isoClock(): (ms: number) => string {
  let lastMs = -1
  let lastIso = ''
  return (time) => {
    const ms = Math.floor(time)
    if (ms !== lastMs) {
      lastMs = ms
      lastIso = new Date(ms).toISOString()
    }
    return lastIso
  }
}

/** The same as `quotedText`, remembering the last value: most are the same for many requests in a row. */
function rememberedText(): (value: string) => string {
  let last = ''
  let lastQuoted = '""'
  return (value) => {
    if (value !== last) {
      last = value
      lastQuoted = quotedText(value)
    }
    return lastQuoted
  }
}

/** Makes the formatter of access lines. Each line ends in a newline and has no other control characters. */
export function createAccessFormatter(format: AccessFormat): (entry: AccessEntry) => string {
  if (format === 'common' || format === 'combined') return createCombinedFormatter(format)
  const iso = isoClock()
  return format === 'json' ? createJsonFormatter(iso) : (entry) => prettyAccess(entry, iso(entry.startedAt))
}

// Built by hand: one string per request and no object; only values that a client chose need escaping.
function createJsonFormatter(iso: (ms: number) => string): (entry: AccessEntry) => string {
  const site = rememberedText()
  const method = rememberedText()
  const path = rememberedText()
  const cache = rememberedText()
  const client = rememberedText()
  const agent = rememberedText()
  return (entry) =>
    `{"time":"${iso(entry.startedAt)}","request_id":${quotedText(entry.requestId)},"site":${site(entry.site)},"method":${method(entry.method)},"path":${path(withoutQuery(entry.path))},"status":${entry.status},"bytes":${entry.bytes},"duration_ms":${Math.round(entry.durationMs * 1000) / 1000},"cache":${cache(entry.cache)},"client":${client(entry.client)},"user_agent":${agent(entry.userAgent)}${traceIds(entry)}}\n`
}

function traceIds({ trace }: AccessEntry): string {
  return trace === undefined ? '' : `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`
}

function prettyAccess(entry: AccessEntry, time: string): string {
  const path = quotedText(withoutQuery(entry.path)).slice(1, -1)
  const cache = entry.cache === '' ? '' : ` ${entry.cache}`
  return `${time.slice(11, 23)} ${quotedText(entry.client).slice(1, -1)} ${quotedText(entry.method).slice(1, -1)} ${path} ${entry.status} ${entry.bytes}B ${entry.durationMs.toFixed(1)}ms${cache} ${entry.site}\n`
}
