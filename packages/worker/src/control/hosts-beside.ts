import { parseHost } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'

/**
 * The host names under which the pages of a host may be kept: the exact names of the site that claims it, and this one. Undefined
 * when no site claims the host, but one gets it for want of another.
 */
export function hostsBeside(generation: Pick<ServingGeneration, 'matchHost'>, host: string): readonly string[] | undefined {
  const match = generation.matchHost(host)
  const parsed = parseHost(host)
  if (match === undefined || match.kind === 'default' || parsed === 'bad_host') return undefined
  const exact = match.value.config.hostnames.filter((name) => !name.includes('*'))
  return [...new Set([parsed.hostname, ...exact])]
}
