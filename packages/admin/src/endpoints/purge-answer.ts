import type { PurgeOutcome } from '@svc/protocol'
import { type EndpointAnswer, jsonAnswer } from '../contract/endpoint.ts'

/** Name of the dropped layer in the response of a purge or flush. */
export type PurgedLayer = 'l0' | 'isr' | 'proxy' | 'modules' | 'isolates' | 'app'

/** The result of a purge, before it becomes a response. */
export interface PurgeReport {
  readonly layer: PurgedLayer
  /** Of the layer itself; undefined: as the outcome says. */
  readonly purged?: number
  /** The parsed request. */
  readonly scope: Readonly<Record<string, unknown>>
  /** Result of a purge of cached responses; undefined: there was none. */
  readonly outcome?: Pick<PurgeOutcome, 'l0' | 'isr' | 'proxy' | 'workersAcked' | 'workersTotal'> | undefined
  readonly tookMs: number
}

/** The layers that responses are kept in; a shared store of several instances is `l2`. */
type ResponseLayer = 'l0' | 'isr' | 'l2' | 'proxy'

function isResponseLayer(layer: PurgedLayer): layer is PurgedLayer & ResponseLayer {
  return layer === 'l0' || layer === 'isr' || layer === 'proxy'
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
  return jsonAnswer(200, {
    ok: true,
    layer,
    purged: report.purged ?? own,
    also: isResponseLayer(layer) ? { ...counts, [layer]: 0 } : counts,
    scope,
    workers: { acked: outcome?.workersAcked ?? 0, total: outcome?.workersTotal ?? 0 },
    instances: { acked: 1, known: 1 },
    took_ms: Math.round(tookMs * 100) / 100,
  })
}
