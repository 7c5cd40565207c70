import { Skeleton } from '../components/skeleton.tsx'
import { Stat, StatList } from '../components/stat.tsx'
import { Time } from '../components/time.tsx'
import { useLast } from '../data/live-stream.ts'
import { useServices } from '../data/services.ts'
import { counted, quantity } from '../format/quantity.ts'

/** "2 ready, 1 starting". */
function states(byState: Readonly<Record<string, number>>): string {
  return Object.entries(byState)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}

/** The figures of the moment, live. */
export function Now() {
  const report = useLast(useServices().summary)
  if (report === undefined) return <Skeleton rows={2} label="Waiting for the first figures" />
  const { traffic, instance, sites, alerts } = report
  const { requests_per_sec: rate, hit_ratio: hits } = traffic
  const disk = instance?.disks.toSorted((one, other) => one.free_ratio - other.free_ratio)[0]
  return (
    <StatList label="Figures of the moment">
      <Stat label="Requests" value={rate.last_10_secs} unit="per_sec">
        last minute {quantity(rate.last_minute, 'per_sec').text}
      </Stat>
      <Stat label="Errors (5xx)" value={traffic.error_ratio} unit="ratio" />
      <Stat label="Latency p50" value={traffic.p50_ms} unit="ms" />
      <Stat label="Latency p95" value={traffic.p95_ms} unit="ms" />
      <Stat label="Latency p99" value={traffic.p99_ms} unit="ms" />
      <Stat label="Hits in L0" value={hits?.l0} unit="ratio" />
      <Stat label="Hits in ISR" value={hits?.isr} unit="ratio" />
      <Stat label="Hits in the proxy cache" value={hits?.proxy} unit="ratio" />
      <Stat label="Sites" value={sites.total} unit="count">
        {states(sites.states)}
      </Stat>
      <Stat label="Firing alerts" value={alerts.firing} unit="count">
        {counted(alerts.pending, 'pending alert')}
      </Stat>
      {instance !== undefined && (
        <>
          <Stat label="Workers" value={instance.workers.total} unit="count">
            {states(instance.workers.states)}
          </Stat>
          <Stat label="Render hosts" value={instance.hosts.total} unit="count">
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
