import { entryOf } from '@svc/core'
import { type ClientInfo, clientOf, type HttpExchange } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { type ContextTools, RequestContext, type Stage } from '../request/request-context.ts'
import type { RequestLog } from '../request/request-log.ts'

/** Called for a stage that threw; must answer the request if there is no response yet. */
type StageFailure = (context: RequestContext, error: unknown) => void

/** Runs stages in order until one answers. Stays synchronous as long as the stages do. */
export class Pipeline {
  readonly #stages: readonly Stage[]
  readonly #stagesOf = new WeakMap<ServingGeneration, readonly Stage[]>()
  readonly #onFailure: StageFailure

  constructor(stages: readonly Stage[], onFailure: StageFailure) {
    this.#stages = stages
    this.#onFailure = onFailure
  }

  run(context: RequestContext): void {
    const { generation } = context
    const needed = () => this.#stages.filter((stage) => stage.isNeeded?.(generation) ?? true)
    this.#runFrom(0, entryOf(this.#stagesOf, generation, needed), context)
  }

  #runFrom(start: number, stages: readonly Stage[], context: RequestContext): void {
    for (let index = start; index < stages.length; index++) {
      try {
        const result = stages[index]?.run(context)
        if (result === 'answered') return
        if (result instanceof Promise) {
          result.then(
            (settled) => {
              if (settled === 'next') this.#runFrom(index + 1, stages, context)
            },
            (error) => this.#onFailure(context, error),
          )
          return
        }
      } catch (error) {
        this.#onFailure(context, error)
        return
      }
    }
  }
}

/** Dependencies of a handler of exchanges. */
interface RequestHandlerOptions {
  /** The generation that new requests begin with. */
  readonly generation: () => ServingGeneration
  readonly pipeline: Pipeline
  readonly log: () => RequestLog
  readonly tools: ContextTools
}

/** Sends a request through the pipeline. `own`: the client of a request that the service makes of itself. */
export type RequestHandler = (exchange: HttpExchange, own?: ClientInfo) => void

/** Makes the function that an engine calls for each request: determines the client, and sends the request through the pipeline. */
export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  return (exchange, own) => {
    const generation = options.generation()
    const client = own ?? clientOf(exchange.request, generation.trustedProxies)
    const context = new RequestContext(exchange, generation, client, options.tools)
    context.isOwn = own !== undefined
    options.log().began(exchange.request)
    exchange.onClosed((isAborted) => {
      context.closed(isAborted)
      options.log().finished(context, isAborted)
    })
    options.pipeline.run(context)
  }
}
