import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised while serving files. They go to the log; the client sees a 404, a 500 or a cut response. */
export type StaticErrorCode =
  /** A file exists but may not be read by this process. */
  | 'STATIC_UNREADABLE'
  /** A file was changed or cut while it was being sent. */
  | 'STATIC_FILE_CHANGED'
  /** Looking at a file, opening or reading it failed for another reason. */
  | 'STATIC_READ_FAILED'

const table = {
  STATIC_UNREADABLE: { status: 404 },
  STATIC_FILE_CHANGED: { status: 503, retryable: true },
  STATIC_READ_FAILED: { status: 500 },
} satisfies ErrorTable<StaticErrorCode>

/** An error of serving files. */
export class StaticError extends AppError<StaticErrorCode> {
  constructor(code: StaticErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'StaticError'
  }
}

/** Codes of the system that mean: there is a file, and this process may not read it. */
export const DENIED_CODES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM'])

/** Nobody can tell whether there is a file: no descriptors are left, the disk is broken. */
export function unreadable(path: string, cause: unknown): StaticError {
  return new StaticError('STATIC_READ_FAILED', `cannot read ${path}`, { cause })
}
