import { errorClass } from '@svc/core'

/** An error of serving files. */
export const StaticError = errorClass('StaticError', {
  /** A file exists but may not be read by this process. */
  STATIC_UNREADABLE: { status: 404 },
  /** A file was changed or cut while it was being sent. */
  STATIC_FILE_CHANGED: { status: 503, retryable: true },
  /** Examining, opening or reading a file failed for another reason. */
  STATIC_READ_FAILED: { status: 500 },
})
export type StaticError = InstanceType<typeof StaticError>

/** System error codes of a file that exists but that this process may not read. */
export const DENIED_CODES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM'])

/** The error for a file whose existence is unknown: no descriptors are left, or the disk is broken. */
export function unreadable(path: string, cause: unknown): StaticError {
  return new StaticError('STATIC_READ_FAILED', `cannot read ${path}`, { cause })
}
