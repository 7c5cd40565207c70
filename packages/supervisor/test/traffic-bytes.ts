import { latencyBin, TopLists, TrafficTotals, TrafficWriter } from '@svc/telemetry'

/** Requests of a site, as a worker reports them. */
export interface Requests {
  readonly site?: string
  readonly count?: number
  readonly status?: number
  readonly ms?: number
  readonly path?: string
}

/** The report of a worker. */
export function bytesOf(all: readonly Requests[]): Uint8Array {
  const writer = new TrafficWriter(20)
  for (const { site = 'shop', count = 1, status = 200, ms = 10, path = '/' } of all) {
    const totals = new TrafficTotals()
    const tops = new TopLists(20)
    for (let i = 0; i < count; i++) {
      totals.record(status, 100)
      totals.latency.record(latencyBin(ms))
    }
    tops.paths.add(path, count)
    writer.add({ site, totals, tops })
  }
  return writer.take()
}
