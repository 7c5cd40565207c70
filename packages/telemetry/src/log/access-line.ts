/** Fields of the log line of one request. */
export interface AccessEntry {
  /** When the request began, milliseconds since the epoch. */
  readonly startedAt: number
  readonly requestId: string
  /** Site id, or "" when none was found. */
  readonly site: string
  readonly method: string
  /** Path as sent; a query is cut off here. */
  readonly path: string
  readonly status: number
  /** Body bytes sent. */
  readonly bytes: number
  readonly durationMs: number
  /** Result of the caches, e.g. "l0-hit", or "" when none was asked. */
  readonly cache: string
  /** Client address after trusted proxies. */
  readonly client: string
  readonly userAgent: string
}

/** Longer values are cut: a line must stay under the size that a pipe takes whole. */
const MAX_VALUE_CHARS = 512

function text(value: string): string {
  return JSON.stringify(value.length > MAX_VALUE_CHARS ? value.slice(0, MAX_VALUE_CHARS) : value)
}

function withoutQuery(path: string): string {
  const end = path.search(/[?#]/)
  return end === -1 ? path : path.slice(0, end)
}

/** Formats a time, remembering the last one: many requests of one millisecond share its text. */
function isoClock(): (ms: number) => string {
  let lastMs = -1
  let lastIso = ''
  return (ms) => {
    if (ms !== lastMs) {
      lastMs = ms
      lastIso = new Date(ms).toISOString()
    }
    return lastIso
  }
}

/** Makes the formatter of access lines: JSON objects, or text for a person. Each line ends in a newline. */
export function createAccessFormatter(format: 'json' | 'pretty'): (entry: AccessEntry) => string {
  const iso = isoClock()
  return format === 'json'
    ? (entry) => jsonLine(entry, iso(entry.startedAt))
    : (entry) => prettyAccess(entry, iso(entry.startedAt))
}

// Built by hand: one string per request and no object; only values that a client chose need escaping.
function jsonLine(entry: AccessEntry, time: string): string {
  return `{"time":"${time}","request_id":${text(entry.requestId)},"site":${text(entry.site)},"method":${text(entry.method)},"path":${text(withoutQuery(entry.path))},"status":${entry.status},"bytes":${entry.bytes},"duration_ms":${Math.round(entry.durationMs * 1000) / 1000},"cache":${text(entry.cache)},"client":${text(entry.client)},"user_agent":${text(entry.userAgent)}}\n`
}

function prettyAccess(entry: AccessEntry, time: string): string {
  const path = text(withoutQuery(entry.path)).slice(1, -1)
  const cache = entry.cache === '' ? '' : ` ${entry.cache}`
  return `${time.slice(11, 23)} ${entry.client} ${text(entry.method).slice(1, -1)} ${path} ${entry.status} ${entry.bytes}B ${entry.durationMs.toFixed(1)}ms${cache} ${entry.site}\n`
}
