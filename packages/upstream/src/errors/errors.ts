import { errorClass } from '@svc/core'

/** An upstream that gave no answer, or no whole one. */
export const UpstreamError = errorClass('UpstreamError', {
  /** No connection, or it broke before the head of the answer. */
  UPSTREAM_UNREACHABLE: { status: 502, retryable: true },
  /** Connecting, sending or waiting for the answer took too long. */
  UPSTREAM_TIMEOUT: { status: 504, retryable: true },
  /** The answer breaks its protocol. */
  UPSTREAM_BAD_ANSWER: { status: 502, retryable: true },
  /** No server of the group is in service. */
  UPSTREAM_NONE_LEFT: { status: 502, retryable: true },
  /** The answer broke off after its head. */
  UPSTREAM_CUT: { status: 502, retryable: true },
  /** What a FastCGI application wrote to its error output; it is written down and answers nobody. */
  UPSTREAM_STDERR: {},
})
export type UpstreamError = InstanceType<typeof UpstreamError>
