import type { RequestContext, StageResult } from '../request/request-context.ts'

type Outcome = StageResult | Promise<StageResult>

/** A request in its location. */
interface LocationRequest {
  readonly state: { readonly context: RequestContext; readonly status: number | undefined }
  fail(status: number): Outcome
}

/**
 * Applies conditions to a response with status 200 that has no validators, as nginx does whatever the method is: no tag matches it but
 * "*", and no time does. Call it before the response is offered to L0. Pages of errors have no conditions.
 * @returns undefined: the response is sent
 */
export function answerByConditions(run: LocationRequest): Outcome | undefined {
  const { context, status = 200 } = run.state
  if (status !== 200) return undefined
  const header = (name: string) => context.request.header(name)?.trim()
  const isRefused = (header('if-match') ?? '*') !== '*' || header('if-unmodified-since') !== undefined
  if (isRefused) return run.fail(412)
  if (header('if-none-match') !== '*') return undefined
  context.respond({ status: 304, headers: [] })
  return 'answered'
}
