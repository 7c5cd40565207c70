import { sendError } from '../error-response.ts'
import type { RequestContext } from '../request-context.ts'

/** How often a request may have come through this instance before, by fetches of sites that asked each other. */
const MAX_DEPTH = 4

/** Counts how often CDN-Loop (RFC 8586) names an instance: once for each time that a request was sent on by it. */
function depthThrough(instanceId: string, headers: RequestContext['request']['headers']): number {
  const own = `svc;${instanceId}`
  let depth = 0
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== 'cdn-loop') continue
    for (const member of value.split(',')) if (member.replace(/[ \t]/g, '') === own) depth++
  }
  return depth
}

function depthOf({ request, generation }: RequestContext): number {
  if (request.header('cdn-loop') === undefined) return 0
  return depthThrough(generation.config.scaling.instance_id, request.headers)
}

/**
 * Whether a render of this instance may wait for the answer to this request: one that in turn waited for a render might wait
 * for itself.
 */
export function cameBack(context: RequestContext): boolean {
  return depthOf(context) > 0
}

/** Answers a request that goes round in circles with 508. False: it does not. */
export function refuseLoop(context: RequestContext): boolean {
  if (depthOf(context) <= MAX_DEPTH) return false
  context.withdrawFromL0()
  sendError(context, { status: 508, code: 'loop_detected' })
  return true
}
