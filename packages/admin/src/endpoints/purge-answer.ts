import type { PurgeOutcome } from '@svc/protocol'
import * as z from 'zod/mini'
import type { ControlPlane, PurgeOrder } from '../contract/control-plane.ts'
import { type EndpointAnswer, ok } from '../contract/endpoint.ts'
import { success } from '../contract/schemas.ts'

/** The layers that hold responses; a shared store of several instances is `l2`. */
const responseLayers = ['l0', 'isr', 'l2', 'proxy'] as const
type ResponseLayer = (typeof responseLayers)[number]

/** Name of the dropped layer in the response of a purge or flush. */
const purgedLayers = [...responseLayers, 'modules', 'isolates', 'app', 'all'] as const
type PurgedLayer = (typeof purgedLayers)[number]

/** The result of a purge, before it becomes a response. */
interface PurgeReport {
  readonly layer: PurgedLayer
  /** Of the layer itself; undefined: as the outcome says. */
  readonly purged?: number
  /** The parsed request. */
  readonly scope: Readonly<Record<string, unknown>>
  /** Result of a purge of cached responses; undefined: there was none. */
  readonly outcome?: Pick<PurgeOutcome, 'l0' | 'isr' | 'proxy' | 'workersAcked' | 'workersTotal' | 'instances' | 'l2'> | undefined
  readonly tookMs: number
}

const count = () => z.int().check(z.nonnegative())

/** The response of every purge and flush. */
export function purgeResponse() {
  return success({
    layer: z.enum(purgedLayers),
    purged: count(),
    also: z.object({ l0: count(), isr: count(), l2: count(), proxy: count() }),
    scope: z.looseObject({}),
    workers: z.object({ acked: count(), total: count() }),
    instances: z.object({ acked: count(), known: count() }),
    /** Present where instances share a cache. `deferred`: Redis is away; it gets the purge when it is back. */
    l2: z.optional(z.enum(['purged', 'deferred'])),
    took_ms: z.number(),
  })
}

function isResponseLayer(layer: PurgedLayer): layer is PurgedLayer & ResponseLayer {
  return (responseLayers as readonly string[]).includes(layer)
}

/** The answer of every purge and flush. `also` counts entries of other layers than the named one. */
export function purgeAnswer(report: PurgeReport): EndpointAnswer {
  const { layer, scope, outcome, tookMs } = report
  const counts: Record<ResponseLayer, number> = {
    l0: outcome?.l0 ?? 0,
    isr: outcome?.isr ?? 0,
    l2: 0,
    proxy: outcome?.proxy ?? 0,
  }
  const own = isResponseLayer(layer) ? counts[layer] : 0
  return ok({
    layer,
    purged: report.purged ?? own,
    also: isResponseLayer(layer) ? { ...counts, [layer]: 0 } : counts,
    scope,
    workers: { acked: outcome?.workersAcked ?? 0, total: outcome?.workersTotal ?? 0 },
    instances: outcome?.instances ?? { acked: 1, known: 1 },
    ...(outcome?.l2 !== undefined && { l2: outcome.l2 }),
    took_ms: Math.round(tookMs * 100) / 100,
  })
}

/** Carries out purges, one after the other, and adds up their results. */
export async function purgeOutcomeOf(
  { purges }: ControlPlane,
  orders: readonly PurgeOrder[],
): Promise<NonNullable<PurgeReport['outcome']>> {
  const sum = { l0: 0, isr: 0, proxy: 0 }
  let last: PurgeOutcome | undefined
  for (const order of orders) {
    last = await purges.purge(order)
    for (const layer of ['l0', 'isr', 'proxy'] as const) sum[layer] += last[layer]
  }
  return { workersAcked: 0, workersTotal: 0, instances: { acked: 1, known: 1 }, ...last, ...sum }
}

/** Drops what the scopes name from one layer. */
export async function purgeLayer(
  plane: ControlPlane,
  layer: 'l0' | 'isr' | 'proxy',
  scopes: PurgeOrder['scopes'],
  scope: PurgeReport['scope'],
): Promise<EndpointAnswer> {
  const outcome = await plane.purges.purge({ layers: [layer], scopes, mode: 'drop' })
  return purgeAnswer({ layer, scope, outcome, tookMs: outcome.tookMs })
}
