import { useMemo } from 'preact/hooks'
import { Chart } from '../components/chart.tsx'
import type { Mark } from '../components/chart-options.ts'
import { Empty } from '../components/empty.tsx'
import type { Analytics } from '../data/answers.ts'

interface TrafficChartsProps {
  readonly analytics: Analytics
  readonly marks?: readonly Mark[]
}

/** Workers report after each such time: less says nothing. */
const MIN_SECS = 10

const share = (part: number, whole: number) => (whole === 0 ? null : part / whole)

/** The current bucket has not ended: its requests are those of a shorter time. */
function rateOf({ at, requests }: Analytics['buckets'][number], stepSecs: number): number {
  const passedSecs = (Date.now() - Date.parse(at)) / 1000
  return requests / Math.min(stepSecs, Math.max(passedSecs, MIN_SECS))
}

/** Requests, errors, latency and hit ratios over a window of time. */
export function TrafficCharts({ analytics, marks }: TrafficChartsProps) {
  const { buckets, step_secs: stepSecs } = analytics
  const lines = useMemo(() => {
    const errors = buckets.map(({ status, requests }) => share(status['5xx'] ?? 0, requests))
    const hits = (layer: 'l0' | 'isr' | 'proxy') =>
      buckets.map(({ hits: all, misses }) => share(all[layer], all.l0 + all.isr + all.proxy + misses))
    return {
      times: buckets.map(({ at }) => Date.parse(at) / 1000),
      requests: [{ label: 'requests', values: buckets.map((bucket) => rateOf(bucket, stepSecs)) }],
      errors: [{ label: '5xx', values: errors }],
      latency: (['p50_ms', 'p95_ms', 'p99_ms'] as const).map((name) => ({
        label: name.replace('_ms', ''),
        values: buckets.map((bucket) => bucket[name]),
      })),
      hits: (['l0', 'isr', 'proxy'] as const).map((layer) => ({ label: layer, values: hits(layer) })),
    }
  }, [buckets, stepSecs])
  if (buckets.every(({ requests }) => requests === 0)) {
    return <Empty title="No requests in this time.">Figures appear some seconds after the first request to a site.</Empty>
  }
  const { times } = lines
  return (
    <div class="charts">
      <Chart title="Requests" unit="per_sec" times={times} series={lines.requests} marks={marks} />
      <Chart title="Latency" unit="ms" times={times} series={lines.latency} marks={marks} />
      <Chart title="Errors" unit="ratio" times={times} series={lines.errors} marks={marks} />
      <Chart title="Hit ratio by layer" unit="ratio" times={times} series={lines.hits} marks={marks} />
    </div>
  )
}
