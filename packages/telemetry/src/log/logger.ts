import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { prettyLine } from './pretty-line.ts'

export type { Logger } from 'pino'

/** Levels of the configuration key `logging.level`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** How a logger is made. */
export interface LoggerOptions {
  readonly level: LogLevel
  /** "json": one object per line. "pretty": for a person at a terminal. */
  readonly format: 'json' | 'pretty'
  /** Fields of every line, e.g. `{ proc: 'worker', worker: 2 }`. */
  readonly base?: Readonly<Record<string, unknown>>
  /** Where lines go. @default standard error of the process */
  readonly destination?: DestinationStream
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

function prettyStream(destination: DestinationStream): DestinationStream {
  return new Writable({
    decodeStrings: false,
    write(line, _encoding, done) {
      destination.write(prettyLine(String(line)))
      done()
    },
  })
}

/**
 * Makes the logger of a process: JSON lines with an ISO `time` and the level by name, on standard error, written without
 * blocking the event loop and flushed when the process exits. Credentials are blanked wherever a header object is logged.
 */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ fd: 2, sync: false })
  return pino(
    {
      level: options.level,
      base: { ...options.base },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths(), censor: '***' },
    },
    options.format === 'pretty' ? prettyStream(destination) : destination,
  )
}
