import { PRODUCT_VERSION } from '@svc/protocol'
import { MetricsPush } from '@svc/telemetry'
import type { MasterDeps, MasterParts } from './parts.ts'

/** Makes the export of the metrics of an instance to its collector. Nothing is sent before its start. */
export function metricsExport(
  { spec, workers, hosts, metrics }: Pick<MasterParts, 'spec' | 'workers' | 'hosts' | 'metrics'>,
  { clock, logger }: Pick<MasterDeps, 'clock' | 'logger'>,
): MetricsPush {
  return new MetricsPush({
    config: () => spec().config,
    collect: () => metrics.snapshots([...workers.ready, ...hosts.measured]),
    process: { 'service.version': PRODUCT_VERSION },
    clock,
    onState: (collector, error) => {
      if (error === undefined) logger.info({ collector }, 'the collector takes metrics again')
      else logger.warn({ collector, err: error }, `failed to export metrics to ${collector}: ${error.message}`)
    },
  })
}
