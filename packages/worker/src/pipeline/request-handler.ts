import { clientOf, type HttpExchange } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { type ContextTools, RequestContext } from '../request/request-context.ts'
import type { RequestLog } from '../request/request-log.ts'
import type { Pipeline } from './pipeline.ts'

/** What a handler of exchanges is made of. */
export interface RequestHandlerOptions {
  /** The generation that new requests begin with. */
  readonly generation: () => ServingGeneration
  readonly pipeline: Pipeline
  readonly log: () => RequestLog
  readonly tools: ContextTools
}

/** Makes the function that an engine calls for each request: finds out who asks, and sends it through the pipeline. */
export function createRequestHandler(options: RequestHandlerOptions): (exchange: HttpExchange) => void {
  return (exchange) => {
    const generation = options.generation()
    const client = clientOf(exchange.request, generation.trustedProxies)
    const context = new RequestContext(exchange, generation, client, options.tools)
    options.log().began(exchange.request)
    exchange.onClosed((isAborted) => {
      context.closed(isAborted)
      options.log().finished(context, isAborted)
    })
    options.pipeline.run(context)
  }
}
