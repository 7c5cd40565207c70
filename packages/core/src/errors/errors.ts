import { errorClass } from './app-error.ts'

/** An error of the `core` package. */
export const CoreError = errorClass('CoreError', {
  /** The thing was used after its `close()`. */
  CORE_CLOSED: {},
  /** A deadline passed before the operation finished. */
  CORE_TIMEOUT: { status: 504, retryable: true },
  /** The caller aborted the call. */
  CORE_ABORTED: {},
  /** The process, thread or socket at the other end is gone. */
  CORE_PEER_GONE: { status: 502, retryable: true },
  /** The process at the other end is shutting down. It has not begun the call, which can be made elsewhere. */
  CORE_PEER_LEAVING: { status: 503, retryable: true },
  /** The other end speaks another version or sent a frame that is not understood. */
  CORE_PROTOCOL: {},
  /** The other end has no such method. */
  CORE_NO_METHOD: {},
  /** Another user could read, write or replace a directory that must be private. */
  CORE_UNSAFE_DIRECTORY: {},
  /** A file is not read: it is not a regular file, too large, or outside of the directory that it must be in. */
  CORE_FILE_REFUSED: {},
})
export type CoreError = InstanceType<typeof CoreError>
