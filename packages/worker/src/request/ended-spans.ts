import type { ClientInfo, HttpExchange } from '@svc/http'
import type { RequestTrace, SpanRecord } from '@svc/telemetry'
import { type EndedRequest, stagesOf } from './flow-log.ts'
import { requestSpan, stageSpans } from './request-spans.ts'
import { cacheWord } from './response-head.ts'

/** A request as its spans show it. */
interface SpannedRequest {
  readonly client: Pick<ClientInfo, 'scheme' | 'host' | 'address'>
  readonly exchange: Pick<HttpExchange, 'request'>
  readonly pathGroup: string
  readonly requestId: string
  readonly cacheStatus: string
}

/** The spans of a request that has ended: its own, and one for each stage. */
export function endedSpans(request: SpannedRequest, trace: RequestTrace, ended: EndedRequest, bytes: number): SpanRecord[] {
  const { client, exchange, pathGroup, requestId, cacheStatus } = request
  const traced = {
    ...ended,
    trace,
    requestId,
    cache: cacheWord(cacheStatus),
    pathGroup,
    scheme: client.scheme,
    host: client.host,
    client: client.address,
    userAgent: exchange.request.header('user-agent') ?? '',
    httpVersion: exchange.request.httpVersion,
    bytes,
  }
  const span = requestSpan(traced)
  return [span, ...stageSpans(traced, span, stagesOf(ended))]
}
