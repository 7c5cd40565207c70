import type { HeaderList } from '@svc/http'
import type { ServingGeneration } from '../../generation/serving-generation.ts'
import type { Admission, RateLimiter } from '../../rate-limit/rate-limiter.ts'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { isProbe } from './builtin-stage.ts'

const WINDOW_SECONDS = 60

/**
 * Refuses requests of clients that are over their budget. It comes before the stage that answers probes and passes them by, and again behind
 * that: there it stops what looks like a probe and is for a site.
 */
export class LimiterStage implements Stage {
  readonly name = 'limiter'
  readonly #limiter: RateLimiter
  readonly #passesProbes: boolean

  constructor(limiter: RateLimiter, passesProbes: boolean) {
    this.#limiter = limiter
    this.#passesProbes = passesProbes
  }

  isNeeded({ config }: ServingGeneration): boolean {
    return config.rate_limit.enabled
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    if (context.isAdmitted || (this.#passesProbes && looksLikeProbe(context))) return 'next'
    context.isAdmitted = true
    const admission = this.#limiter.admit(context.client.address)
    if (!(admission instanceof Promise)) return this.#settle(context, admission)
    context.enter('limiter')
    return admission.then((settled) => {
      if (settled.isPassed) context.enter('router')
      return this.#settle(context, settled)
    })
  }

  #settle(context: RequestContext, admission: Admission): StageResult {
    if (admission.isPassed) return 'next'
    context.withdrawFromL0()
    const detail = `a client may send ${this.#limiter.budget} requests in a minute`
    const problem = { status: 429, code: 'rate_limited', detail }
    sendError(context, problem, limitFields(this.#limiter.budget, admission.retryMs))
    return 'answered'
  }
}

function looksLikeProbe({ generation, request }: RequestContext): boolean {
  const match = generation.endpoints.match(request.method, request.path)
  return match?.kind === 'endpoint' && isProbe(match.endpoint)
}

/** Retry-After (RFC 9110 section 10.2.3), and the fields of draft-ietf-httpapi-ratelimit-headers. */
function limitFields(budget: number, retryMs: number): HeaderList {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000))
  return [
    ['retry-after', String(seconds)],
    ['ratelimit-policy', `"default";q=${budget};w=${WINDOW_SECONDS}`],
    ['ratelimit', `"default";r=0;t=${seconds}`],
  ]
}
