import { errorClass } from '@svc/core'

/** An error of the `http` package. */
export const HttpError = errorClass('HttpError', {
  /** The request breaks the protocol. */
  HTTP_BAD_REQUEST: { status: 400, exposable: true },
  /** The request body is longer than allowed. */
  HTTP_BODY_TOO_LARGE: { status: 413, exposable: true },
  /** The request did not arrive completely in time. */
  HTTP_REQUEST_TIMEOUT: { status: 408, retryable: true, exposable: true },
  /** The client went away before the request or the response was complete. */
  HTTP_ABORTED: { retryable: true },
  /** An exchange was answered twice, or its body read twice: a fault of this program. */
  HTTP_MISUSE: { status: 500 },
  /** An address range is not `address` or `address/bits`. */
  HTTP_BAD_CIDR: { template: '"{range}" is neither an address nor address/bits' },
  /** A spooled body could not be written to its file, or read back. The prefix is that of the package that raised it first. */
  ENGINE_BODY_LOST: {},
})
export type HttpError = InstanceType<typeof HttpError>
