import { printable } from '@svc/core'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { isJournal, journalPrefix, prefixLines } from './journal.ts'

export type { Logger } from 'pino'

/** Levels of the configuration key `logging.level`. */
type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** A log line for readers other than the file that it is written to. */
export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Severity: 10 for trace to 60 for fatal. */
  readonly level: number
  /** Id of the site that it is about; "": it is about none. */
  readonly site: string
  /** A JSON object, without a newline. */
  readonly text: string
}

/** Options of a logger. */
interface LoggerOptions {
  readonly level: LogLevel
  /** "json": one object per line. "pretty": for a person at a terminal. */
  readonly format: 'json' | 'pretty'
  /** Fields of every line, e.g. `{ proc: 'worker', worker: 2 }`. */
  readonly base?: Readonly<Record<string, unknown>>
  /** Receives the lines. @default standard error of the process */
  readonly destination?: DestinationStream
  /** Receives each line as well, cut to a bound, with the fields that it was written with. */
  readonly onLine?: (line: LogLine, fields: Readonly<Record<string, unknown>>) => void
}

/** Fields that carry credentials, at the places where requests and responses are logged. */
const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'Cookie',
  '["set-cookie"]',
  '["proxy-authorization"]',
  'password',
  'token',
]

function secretPaths(): string[] {
  return SECRET_FIELDS.flatMap((field) => {
    const under = (parent: string) => (field.startsWith('[') ? `${parent}${field}` : `${parent}.${field}`)
    return [field, under('headers'), under('req.headers'), under('request.headers'), under('res.headers'), under('*')]
  })
}

/** Longer lines are cut for `onLine`. */
const MAX_LINE_CHARS = 8 * 1024
const MAX_CUT_CHARS = 2 * 1024

const STDERR = 2

const WANTS_METADATA = Symbol.for('pino.metadata')

/** Passes lines on in the form that their reader wants, and shows them to a listener. Pino sets the `last` fields before each write. */
class LineWriter implements DestinationStream {
  readonly [WANTS_METADATA] = true
  readonly #destination: DestinationStream & Partial<Pick<LineWriter, 'flush' | 'flushSync'>>
  readonly #options: LoggerOptions
  lastLevel = 0
  lastMsg: unknown
  lastObj: unknown

  readonly #hasPriority: boolean

  constructor(destination: DestinationStream, options: LoggerOptions, hasPriority: boolean) {
    this.#destination = destination
    this.#options = options
    this.#hasPriority = hasPriority
  }

  write(text: string): void {
    const { format, onLine } = this.#options
    const formatted = format === 'pretty' ? prettyLine(text) : text
    this.#destination.write(this.#hasPriority ? prefixLines(formatted, journalPrefix(this.lastLevel)) : formatted)
    if (onLine !== undefined) this.#show(text, onLine)
  }

  #show(text: string, onLine: NonNullable<LoggerOptions['onLine']>): void {
    const fields = isRecord(this.lastObj) ? this.lastObj : {}
    const at = Date.now()
    const site = String(fields['site'] ?? this.#options.base?.['site'] ?? '')
    const isLong = text.length > MAX_LINE_CHARS
    const shown = isLong ? this.#cut(at, site, text.length) : text.trimEnd()
    onLine({ at, level: this.lastLevel, site, text: shown }, fields)
  }

  flush(done: () => void): void {
    if (this.#destination.flush === undefined) done()
    else this.#destination.flush(done)
  }

  flushSync(): void {
    this.#destination.flushSync?.()
  }

  #cut(at: number, site: string, chars: number): string {
    const { base } = this.#options
    const head = { level: pino.levels.labels[this.lastLevel], time: new Date(at).toISOString(), ...base }
    const msg = String(this.lastMsg ?? '').slice(0, MAX_CUT_CHARS)
    return JSON.stringify({ ...head, ...(site === '' ? {} : { site: site.slice(0, MAX_CUT_CHARS) }), msg, cut_from_chars: chars })
  }
}

/**
 * Makes the logger of a process: JSON lines with an ISO `time` and the level by name, on standard error, written without
 * blocking the event loop and flushed when the process exits; with their priority if that leads to the journal of systemd. Credentials are blanked wherever a header object is logged.
 */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ fd: STDERR, sync: false })
  const hasPriority = options.destination === undefined && isJournal(STDERR)
  const isPlain = options.onLine === undefined && options.format === 'json' && !hasPriority
  return pino(
    {
      level: options.level,
      base: { ...options.base },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths(), censor: '***' },
      // JSON leaves control characters of 8 bits as they are, which some terminals obey.
      hooks: { streamWrite: printable },
    },
    isPlain ? destination : new LineWriter(destination, options, hasPriority),
  )
}

const SHOWN_APART = new Set(['level', 'time', 'msg', 'err', 'proc'])

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    // Not a line of ours (a dependency wrote to the stream): it is shown as it is.
    return undefined
  }
}

function field(name: string, value: unknown): string {
  return `${name}=${typeof value === 'string' && !/[\s"=\p{Cc}]/u.test(value) ? value : JSON.stringify(value)}`
}

/** Text that may come from a site or a client: further lines are indented, so that none passes for a line of the server. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** Formats one JSON log line for a person: local time, level, text, fields, and the stack of an error below. */
export function prettyLine(line: string): string {
  const entry = parse(line)
  if (entry === undefined) return printable(line)
  const time = typeof entry['time'] === 'string' ? new Date(entry['time']).toTimeString().slice(0, 8) : ''
  const fields = Object.entries(entry).filter(([name]) => !SHOWN_APART.has(name))
  const message = typeof entry['msg'] === 'string' ? indented(entry['msg']) : entry['msg']
  const head = [time, String(entry['level']).toUpperCase().padEnd(5), entry['proc'], message]
  const text = [...head, ...fields.map(([name, value]) => field(name, value))]
    .filter((part) => part !== undefined && part !== '')
    .join(' ')
  const error = entry['err']
  const stack = isRecord(error) ? (error['stack'] ?? error['message']) : undefined
  return printable(stack === undefined ? `${text}\n` : `${text}\n    ${indented(String(stack))}\n`)
}
