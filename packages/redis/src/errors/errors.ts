import { errorClass } from '@svc/core'

/** A command that Redis did not carry out, as far as this process knows. */
export const RedisError = errorClass('RedisError', {
  /** There is no connection, or the last commands failed. */
  REDIS_UNAVAILABLE: { retryable: true },
  /** More commands are in flight than Redis answers. */
  REDIS_OVERLOADED: { retryable: true },
  /** The reply did not come in time. */
  REDIS_TIMEOUT: { retryable: true },
  /** Redis answered with an error. */
  REDIS_REFUSED: {},
  /** The address cannot be read. */
  REDIS_BAD_URL: {},
})
export type RedisError = InstanceType<typeof RedisError>
