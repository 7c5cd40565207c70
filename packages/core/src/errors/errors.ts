import { AppError, type AppErrorOptions, type ErrorTable } from './app-error.ts'

/** Codes of errors raised by `core`. */
export type CoreErrorCode =
  /** The thing was used after its `close()`. */
  | 'CORE_CLOSED'
  /** A deadline passed before the operation finished. */
  | 'CORE_TIMEOUT'
  /** The caller gave up. */
  | 'CORE_ABORTED'
  /** The process, thread or socket at the other end is gone. */
  | 'CORE_PEER_GONE'
  /** The other end speaks another version or sent a frame that is not understood. */
  | 'CORE_PROTOCOL'
  /** The other end has no such method. */
  | 'CORE_NO_METHOD'
  /** Another user could read, write or replace a directory that must be private. */
  | 'CORE_UNSAFE_DIRECTORY'
  /** A file is not read: it is not a regular file, too large, or outside of the directory that it must be in. */
  | 'CORE_FILE_REFUSED'

const table = {
  CORE_CLOSED: {},
  CORE_TIMEOUT: { status: 504, retryable: true },
  CORE_ABORTED: {},
  CORE_PEER_GONE: { status: 502, retryable: true },
  CORE_PROTOCOL: {},
  CORE_NO_METHOD: {},
  CORE_UNSAFE_DIRECTORY: {},
  CORE_FILE_REFUSED: {},
} satisfies ErrorTable<CoreErrorCode>

/** An error of the `core` package. */
export class CoreError extends AppError<CoreErrorCode> {
  constructor(code: CoreErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'CoreError'
  }
}
