import type { EndpointResult } from '../contract/endpoint.ts'

/** The parts of the server that are configured and described, but that this version does not have. */
type MissingPart = 'The web application firewall' | 'Rate limiting' | 'The scheduler of tasks' | 'The loader of plugins'

/** Answers for a part that this version does not have. */
export function notAvailable(part: MissingPart): EndpointResult {
  return { problem: { status: 503, code: 'not_available', detail: `${part} is not implemented in this version.` } }
}
