import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Why an upstream gave no answer. */
export type UpstreamErrorCode =
  /** No connection, or it broke before the head of the answer. */
  | 'UPSTREAM_UNREACHABLE'
  /** Connecting, sending or waiting for the answer took too long. */
  | 'UPSTREAM_TIMEOUT'
  /** The answer breaks its protocol. */
  | 'UPSTREAM_BAD_ANSWER'
  /** No server of the group is in service. */
  | 'UPSTREAM_NONE_LEFT'
  /** The answer broke off after its head. */
  | 'UPSTREAM_CUT'
  /** What a FastCGI application wrote to its error output; it is written down and answers nobody. */
  | 'UPSTREAM_STDERR'

const table = {
  UPSTREAM_UNREACHABLE: { status: 502, retryable: true },
  UPSTREAM_TIMEOUT: { status: 504, retryable: true },
  UPSTREAM_BAD_ANSWER: { status: 502, retryable: true },
  UPSTREAM_NONE_LEFT: { status: 502, retryable: true },
  UPSTREAM_CUT: { status: 502, retryable: true },
  UPSTREAM_STDERR: {},
} satisfies ErrorTable<UpstreamErrorCode>

/** An upstream that gave no answer, or no whole one. */
export class UpstreamError extends AppError<UpstreamErrorCode> {
  constructor(code: UpstreamErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'UpstreamError'
  }
}
