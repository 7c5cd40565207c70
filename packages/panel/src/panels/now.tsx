import { Skeleton } from '../components/skeleton.tsx'
import { Stat, StatList } from '../components/stat.tsx'
import { Time } from '../components/time.tsx'
import { useLast } from '../data/live-stream.ts'
import { useServices } from '../data/services.ts'
import { quantity } from '../format/quantity.ts'

/** "2 ready, 1 starting". */
function states(byState: Readonly<Record<string, number>>): string {
  return Object.entries(byState)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}

const flows = (reason: string) => `/__svc/admin/flows?reason=${reason}`

interface NowProps {
  /** Figures lead to the pages that tell more. */
  readonly hasLinks: boolean
}

/** The figures of the moment, live. */
export function Now({ hasLinks }: NowProps) {
  const report = useLast(useServices().summary)
  if (report === undefined) return <Skeleton rows={2} label="Waiting for the first figures" />
  const { traffic } = report
  const { requests_per_sec: rate, hit_ratio: hits } = traffic
  const to = (href: string) => (hasLinks ? href : undefined)
  return (
    <StatList label="Figures of the moment">
      <Stat label="Requests" value={rate.last_10_secs} unit="per_sec" href={to('/__svc/admin/traffic')}>
        last minute {quantity(rate.last_minute, 'per_sec').text}
      </Stat>
      <Stat label="Errors (5xx)" value={traffic.error_ratio} unit="ratio" href={to(flows('failed'))} />
      <Stat label="Latency p50" value={traffic.p50_ms} unit="ms" href={to(flows('sample'))} />
      <Stat label="Latency p95" value={traffic.p95_ms} unit="ms" href={to(flows('slow'))} />
      <Stat label="Latency p99" value={traffic.p99_ms} unit="ms" href={to(flows('slow'))} />
      <Stat label="Hits in L0" value={hits?.l0} unit="ratio" href={to('/__svc/admin/caches?layer=l0')} />
      <Stat label="Hits in ISR" value={hits?.isr} unit="ratio" href={to('/__svc/admin/caches')} />
      <Stat label="Hits in proxy" value={hits?.proxy} unit="ratio" href={to('/__svc/admin/caches?layer=proxy')} />
    </StatList>
  )
}

/** The state of the instance, live: processes, memory, disk. */
export function Instance({ hasLinks }: NowProps) {
  const report = useLast(useServices().summary)
  if (report === undefined) return <Skeleton rows={2} label="Waiting for the first figures" />
  const { instance, sites } = report
  const disk = instance?.disks.toSorted((one, other) => one.free_ratio - other.free_ratio)[0]
  const workers = hasLinks ? '/__svc/admin/workers' : undefined
  return (
    <StatList label="The instance">
      <Stat label="Sites" value={sites.total} unit="count" href={hasLinks ? '/__svc/admin/sites' : undefined}>
        {states(sites.states)}
      </Stat>
      {instance !== undefined && (
        <>
          <Stat label="Workers" value={instance.workers.total} unit="count" href={workers}>
            {states(instance.workers.states)}
          </Stat>
          <Stat label="Render hosts" value={instance.hosts.total} unit="count" href={workers}>
            {states(instance.hosts.states)}
          </Stat>
          <Stat label="Memory" value={instance.memory.resident_bytes} unit="bytes">
            {quantity(instance.memory.available_bytes, 'bytes').text} available
          </Stat>
          {disk !== undefined && (
            <Stat label="Fullest disk: free" value={disk.free_ratio} unit="ratio">
              {disk.path}
            </Stat>
          )}
        </>
      )}
      <Stat label="Uptime" value={report.uptime_secs} unit="secs">
        version {report.version}, generation {report.generation}
        {instance?.last_reload != null && (
          <>
            , reload {instance.last_reload.ok ? '' : 'failed '}
            <Time at={instance.last_reload.at} />
          </>
        )}
      </Stat>
    </StatList>
  )
}
