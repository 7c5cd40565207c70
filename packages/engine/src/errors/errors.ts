import { errorClass } from '@svc/core'

/** An error of an engine. */
export const EngineError = errorClass('EngineError', {
  /** Another program is listening on the address, without sharing it. */
  ENGINE_ADDRESS_IN_USE: { retryable: true },
  /** The address is not one of this machine, or cannot be resolved. */
  ENGINE_BAD_ADDRESS: {},
  /** The process may not listen on this port. */
  ENGINE_ADDRESS_DENIED: {},
  /** Listening failed, and the system gave no reason. */
  ENGINE_LISTEN_FAILED: { retryable: true },
  /** A certificate or its key cannot be used, or an address that speaks TLS has none. */
  ENGINE_BAD_CERTIFICATE: {},
  /** The engine drains or is closed. */
  ENGINE_CLOSED: {},
  /** A response field was dropped because its name or value may not be written. */
  ENGINE_FIELD_DROPPED: {},
  /** The length of a streamed body differs from its declared length. */
  ENGINE_WRONG_LENGTH: {},
})
export type EngineError = InstanceType<typeof EngineError>
/** Codes of `EngineError`. */
export type EngineErrorCode = EngineError['code']
