import { errorClass } from '@svc/core'

/** An upstream that sent no response, or an incomplete one. */
export const UpstreamError = errorClass('UpstreamError', {
  /** No connection, or it broke before the head of the response. */
  UPSTREAM_UNREACHABLE: { status: 502, retryable: true },
  /** Connecting, sending or waiting for the response timed out. */
  UPSTREAM_TIMEOUT: { status: 504, retryable: true },
  /** The response violates its protocol. */
  UPSTREAM_BAD_ANSWER: { status: 502, retryable: true },
  /** No server of the group is in service. */
  UPSTREAM_NONE_LEFT: { status: 502, retryable: true },
  /** The response was cut after its head. */
  UPSTREAM_CUT: { status: 502, retryable: true },
  /** Error output of a FastCGI application; it is logged and never sent to a client. */
  UPSTREAM_STDERR: {},
})
export type UpstreamError = InstanceType<typeof UpstreamError>
