import type { HttpExchange } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { OfferingRequest } from './l0-capture.ts'

/** A request whose response is offered to L0. */
interface OfferedRequest extends Pick<OfferingRequest, 'client' | 'pathGroup' | 'accessLogs' | 'formattedLogs' | 'realIp'> {
  readonly exchange: Pick<HttpExchange, 'request'>
  readonly generation: Pick<ServingGeneration, 'number' | 'config'>
  readonly site: { readonly config: { readonly id: string } } | undefined
  readonly vhost: object | undefined
  readonly hidesCacheStatus: boolean
  readonly l0Terms: OfferingRequest['terms']
  readonly mayCompress: boolean
  readonly compression: OfferingRequest['terms']
}

/** The facts of a request that L0 needs. */
export function offeringOf(request: OfferedRequest): OfferingRequest {
  const { client, generation, pathGroup, accessLogs, formattedLogs, realIp } = request
  return {
    request: request.exchange.request,
    client,
    generation: generation.number,
    site: request.site?.config.id ?? '',
    pathGroup,
    accessLogs,
    realIp,
    formattedLogs,
    affinityCookie: generation.config.scaling.session_cookie_name,
    // Vhost files may depend on the target as sent: `$request_uri`, and requests to an upstream.
    isOfSpelling: request.vhost !== undefined,
    hidesStatus: request.hidesCacheStatus,
    terms: request.l0Terms ?? (request.mayCompress ? request.compression : undefined),
  }
}
