import type { ControlPlane } from '../contract/control-plane.ts'
import type { EndpointAnswer } from '../contract/endpoint.ts'
import { purgeAnswer } from './purge-answer.ts'

/** Gives sites fresh isolates, and drops everything of their label from the response caches. */
export async function flushSites(
  { renderers, purges }: ControlPlane,
  sites: readonly string[],
  label: string,
  scope: Readonly<Record<string, unknown>>,
): Promise<EndpointAnswer> {
  const startedAt = performance.now()
  const flushed = await Promise.all(sites.map((id) => renderers.flush(id)))
  const outcome = await purges.purge({
    layers: ['l0', 'isr', 'proxy'],
    scopes: [{ kind: 'labels', labels: [label] }],
    mode: 'drop',
  })
  const purged = flushed.reduce((sum, count) => sum + count, 0)
  return purgeAnswer({ layer: 'isolates', purged, scope, outcome, tookMs: performance.now() - startedAt })
}
