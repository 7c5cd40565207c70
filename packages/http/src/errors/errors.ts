import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by `http` and by the engines on its behalf. */
export type HttpErrorCode =
  /** The request breaks the protocol. */
  | 'HTTP_BAD_REQUEST'
  /** The request body is longer than allowed. */
  | 'HTTP_BODY_TOO_LARGE'
  /** The request did not arrive completely in time. */
  | 'HTTP_REQUEST_TIMEOUT'
  /** The client went away before the request or the response was complete. */
  | 'HTTP_ABORTED'
  /** An exchange was answered twice, or its body read twice: a fault of this program. */
  | 'HTTP_MISUSE'
  /** An address range is not `address` or `address/bits`. */
  | 'HTTP_BAD_CIDR'
  /** A cookie name, value or attribute cannot be written in a Set-Cookie field. */
  | 'HTTP_BAD_COOKIE'
  /** A spooled body could not be written to its file, or read back. The prefix is that of the package that raised it first. */
  | 'ENGINE_BODY_LOST'

const table = {
  HTTP_BAD_REQUEST: { status: 400, exposable: true },
  HTTP_BODY_TOO_LARGE: { status: 413, exposable: true },
  HTTP_REQUEST_TIMEOUT: { status: 408, retryable: true, exposable: true },
  HTTP_ABORTED: { retryable: true },
  HTTP_MISUSE: { status: 500 },
  HTTP_BAD_CIDR: {},
  HTTP_BAD_COOKIE: { status: 500 },
  ENGINE_BODY_LOST: {},
} satisfies ErrorTable<HttpErrorCode>

/** An error of the `http` package. */
export class HttpError extends AppError<HttpErrorCode> {
  constructor(code: HttpErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'HttpError'
  }
}
