import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by the engines. */
export type EngineErrorCode =
  /** Another program listens on the address, without sharing it. */
  | 'ENGINE_ADDRESS_IN_USE'
  /** The address is not one of this machine, or cannot be resolved. */
  | 'ENGINE_BAD_ADDRESS'
  /** The process may not listen on this port. */
  | 'ENGINE_ADDRESS_DENIED'
  /** Listening failed for a reason that the system did not tell. */
  | 'ENGINE_LISTEN_FAILED'
  /** A certificate or its key cannot be used, or an address that speaks TLS has none. */
  | 'ENGINE_BAD_CERTIFICATE'
  /** The engine drains or is closed. */
  | 'ENGINE_CLOSED'
  /** A response field was dropped because its name or value may not be written. */
  | 'ENGINE_FIELD_DROPPED'
  /** A streamed body did not have the length that was promised for it. */
  | 'ENGINE_WRONG_LENGTH'

const table = {
  ENGINE_ADDRESS_IN_USE: { retryable: true },
  ENGINE_BAD_ADDRESS: {},
  ENGINE_ADDRESS_DENIED: {},
  ENGINE_LISTEN_FAILED: { retryable: true },
  ENGINE_BAD_CERTIFICATE: {},
  ENGINE_CLOSED: {},
  ENGINE_FIELD_DROPPED: {},
  ENGINE_WRONG_LENGTH: {},
} satisfies ErrorTable<EngineErrorCode>

/** An error of an engine. */
export class EngineError extends AppError<EngineErrorCode> {
  constructor(code: EngineErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'EngineError'
  }
}
