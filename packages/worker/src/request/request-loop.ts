import { type LoopMark, timesNamed, wasSentBy } from '@svc/protocol'
import { sendError } from './error-response.ts'
import type { RequestContext } from './request-context.ts'

/** How often a request may have come through this instance before, by fetches of sites that call each other. */
const MAX_DEPTH = 4

function markOf({ generation: { config, spec } }: RequestContext): LoopMark {
  return { instanceId: config.scaling.instance_id, token: spec.loopToken }
}

/** All values of CDN-Loop; almost no request has one. */
function loopValues({ request }: RequestContext): string[] {
  if (request.header('cdn-loop') === undefined) return []
  return request.headers.filter(([name]) => name.toLowerCase() === 'cdn-loop').map(([, value]) => value)
}

/**
 * True if a render of this instance may wait for the response to this request: one that in turn waited for a render might wait
 * for itself. Shown by the token alone: else anybody could have pages rendered that others are waiting for.
 */
export function cameBack(context: RequestContext): boolean {
  return loopValues(context).some((value) => wasSentBy(value, markOf(context)))
}

/** Answers a request that goes round in circles with 508. False: it does not. */
export function refuseLoop(context: RequestContext): boolean {
  if (context.request.header('cdn-loop') === undefined) return false
  const values = loopValues(context)
  const mark = markOf(context)
  if (values.reduce((sum, value) => sum + timesNamed(value, mark), 0) <= MAX_DEPTH) return false
  context.withdrawFromL0()
  sendError(context, { status: 508, code: 'loop_detected' })
  return true
}
