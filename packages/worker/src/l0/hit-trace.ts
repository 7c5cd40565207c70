import type { ReadyRequest } from '@svc/engine'
import type { CidrSet } from '@svc/http'
import type { RequestTrace, RequestTracer } from '@svc/telemetry'
import type { HitRequest } from '../request/request-log.ts'
import { requestSpan } from '../request/request-spans.ts'

/** Traces requests that L0 answers. */
export type HitTracer = Pick<RequestTracer, 'isOn' | 'isPicked' | 'begin' | 'record'>

/** The trace of a request that L0 answers; undefined: it is not sampled. */
export function sampledTrace(tracer: HitTracer, ask: ReadyRequest, trusted: CidrSet): RequestTrace | undefined {
  const isTrusted = !trusted.isEmpty && trusted.contains(ask.remoteAddress())
  const isPicked = tracer.isPicked()
  return isTrusted || isPicked ? beginTrace(tracer, ask, isTrusted, isPicked) : undefined
}

/** A function of its own: hits that are not sampled make no closure. */
function beginTrace(tracer: HitTracer, ask: ReadyRequest, isTrusted: boolean, isPicked: boolean): RequestTrace | undefined {
  if (!isPicked && ask.field('traceparent') === undefined) return undefined
  const trace = tracer.begin((name) => ask.field(name), isTrusted, isPicked)
  return trace.isSampled ? trace : undefined
}

/** Records the span of a request that L0 has answered, if it is sampled. */
export function recordHit(tracer: HitTracer, hit: HitRequest, status: number, bytes: number, durationMs: number): void {
  const { trace, requestId } = hit
  if (trace === undefined || requestId === undefined) return
  tracer.record(requestSpan({ ...hit, requestId, trace, cache: 'l0-hit', status, bytes, durationMs, isFailed: false }))
}
