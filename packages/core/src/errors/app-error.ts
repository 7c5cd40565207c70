/** What every error of this product carries besides its message. */
export interface ErrorSpec {
  /** HTTP status to answer with, when the error can reach a client. */
  readonly status?: number
  /** Whether the same operation may succeed when repeated. @default false */
  readonly retryable?: boolean
  /** Whether the message may be shown to an HTTP client. @default false */
  readonly exposable?: boolean
}

/** An error table: one entry per code of a package. */
export type ErrorTable<Code extends string> = Readonly<Record<Code, ErrorSpec>>

/** What a constructor of an `AppError` takes besides code and message. */
export interface AppErrorOptions {
  readonly cause?: unknown
  /** Facts for the log and for messages across processes: plain data only. */
  readonly data?: Readonly<Record<string, unknown>>
}

/**
 * The base of all errors that this product makes on purpose. Match on `code`, never on the message or with `instanceof`:
 * an error may have crossed a thread or a process.
 */
export class AppError<Code extends string = string> extends Error {
  readonly code: Code
  readonly status: number | undefined
  readonly retryable: boolean
  readonly exposable: boolean
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: Code, message: string, spec: ErrorSpec = {}, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.status = spec.status
    this.retryable = spec.retryable ?? false
    this.exposable = spec.exposable ?? false
    this.data = options.data
  }
}

/** Returns the `code` of an error-like value, or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Returns a one-line message for any thrown value. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  return String(error)
}

/** Turns any thrown value into an `Error`, keeping it as it is when it is one. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown })
}
