import type { RequestContext } from './request-context.ts'

/** Outcome of a stage for a request. */
export type StageResult = 'answered' | 'next'

/** One step of the pipeline. It either answers the request or passes it on; nothing jumps back. */
export interface Stage {
  readonly name: string
  run(context: RequestContext): StageResult | Promise<StageResult>
}
