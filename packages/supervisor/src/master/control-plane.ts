import type { Clock } from '@svc/core'
import { type GenerationSpec, type HealthReport, PRODUCT_VERSION, type StatusReport } from '@svc/protocol'
import { evaluateHealth } from '@svc/telemetry'
import { siteStatuses } from '../control/site-info.ts'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import { diskSpace } from '../health/disk-space.ts'
import type { IsolateLosses } from '../health/isolate-losses.ts'
import { addressUrl } from '../listen/parse-address.ts'
import type { Certificates } from '../tls/certificates.ts'
import type { RenderHosts } from './render-hosts.ts'

/** The parts of a running instance that supply its reports. */
export interface InstanceParts {
  readonly spec: () => GenerationSpec
  readonly workers: WorkerFleet
  readonly hosts: RenderHosts
  readonly losses: IsolateLosses
  readonly lastReload: () => StatusReport['last_reload']
  /** Reason why the ISR store is unusable at the moment; undefined: it works. */
  readonly isrTrouble: () => Promise<string | undefined>
  readonly certificates: Pick<Certificates, 'problems'>
  readonly clock: Clock
  /** Start of the master, in the clock's monotonic time. */
  readonly startedAt: number
}

/** URLs of the addresses that the instance listens on. */
export function listenUrls(spec: GenerationSpec): string[] {
  return spec.listen.map(addressUrl)
}

/** Returns the report of `svc status`. */
export function statusOf(parts: InstanceParts): StatusReport {
  const spec = parts.spec()
  return {
    pid: process.pid,
    version: PRODUCT_VERSION,
    generation: spec.generation,
    uptime_secs: Math.floor((parts.clock.monotonic() - parts.startedAt) / 1000),
    listen: listenUrls(spec),
    workers: parts.workers.status(),
    hosts: parts.hosts.status(spec),
    sites: siteStatuses(spec.sites, parts.hosts.endpoints, parts.hosts.quarantined),
    last_reload: parts.lastReload(),
  }
}

/** Judges the instance for the health endpoint. */
export async function healthOf(parts: InstanceParts): Promise<HealthReport> {
  const { hosts, workers, clock } = parts
  const { config } = parts.spec()
  const now = clock.monotonic()
  const looks = [diskSpace([config.cache.dir, config.server.state_dir]), parts.isrTrouble()] as const
  const [disks, problem] = await Promise.all(looks)
  const certificateProblems = parts.certificates.problems()
  return evaluateHealth({
    uptimeMs: now - parts.startedAt,
    renderPool: {
      hostsWanted: hosts.shared.wanted,
      hostsReady: hosts.shared.ready,
      starvedSites: starvedSites(hosts),
      absentSites: hosts.absent,
      loopingSites: [...new Set([...parts.losses.looping(now), ...hosts.quarantined])],
    },
    workers: { wanted: workers.count, ready: workers.ready.length, isCrashLooping: workers.isCrashLooping },
    disks,
    isrCache: { problem },
    ...(certificateProblems === undefined ? {} : { tlsCerts: { problems: certificateProblems } }),
  })
}

/** Sites with queued renders and no thread in any host. */
function starvedSites(hosts: RenderHosts): string[] {
  const threads = new Map<string, number>()
  const waiting = new Set<string>()
  for (const pool of hosts.pools) {
    threads.set(pool.site, (threads.get(pool.site) ?? 0) + pool.threads)
    if (pool.queued > 0) waiting.add(pool.site)
  }
  return [...waiting].filter((site) => threads.get(site) === 0)
}
