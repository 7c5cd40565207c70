import { statfs } from 'node:fs/promises'
import type { Config } from '@svc/config'
import type { HealthReport } from '@svc/protocol'
import { type DiskSpace, evaluateHealth } from '@svc/telemetry'
import type { MasterParts } from './parts.ts'
import type { RenderHosts } from './render-hosts.ts'

/** This many losses of a site's isolates within the window count as a crash loop. */
const LOOP_COUNT = 5
const WINDOW_MS = 60_000

/** Counts recent losses of isolates by site. */
export class IsolateLosses {
  readonly #lostAt = new Map<string, number[]>()

  /** Notes a loss at `now`, milliseconds of a monotonic clock. */
  note(site: string, now: number): void {
    const recent = (this.#lostAt.get(site) ?? []).filter((at) => now - at < WINDOW_MS)
    this.#lostAt.set(site, [...recent, now].slice(-LOOP_COUNT))
  }

  /** Sites whose isolates are in a crash loop. */
  looping(now: number): string[] {
    for (const [site, times] of this.#lostAt) {
      if (now - (times.at(-1) ?? 0) >= WINDOW_MS) this.#lostAt.delete(site)
    }
    return [...this.#lostAt].flatMap(([site, times]) =>
      times.length >= LOOP_COUNT && now - (times[0] ?? 0) < WINDOW_MS ? [site] : [],
    )
  }
}

async function freeSpace(path: string): Promise<DiskSpace[]> {
  try {
    const { bavail, blocks } = await statfs(path)
    // Some virtual file systems have no size and never fill up.
    return blocks === 0 ? [] : [{ path, freeRatio: bavail / blocks }]
  } catch {
    // A deleted directory has no free space either.
    return [{ path, freeRatio: 0 }]
  }
}

/** Free space of the directories that the service writes to. */
export async function diskSpaces({ cache, server }: Config): Promise<DiskSpace[]> {
  return (await Promise.all([freeSpace(cache.dir), freeSpace(server.state_dir)])).flat()
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

/** Judges the instance for the health endpoint. */
export async function healthOf({
  spec,
  hosts,
  workers,
  losses,
  caches,
  certificates,
  ...parts
}: MasterParts): Promise<HealthReport> {
  const now = parts.clock.monotonic()
  const [disks, problem] = await Promise.all([diskSpaces(spec().config), caches.trouble()])
  const certificateProblems = certificates.problems()
  return evaluateHealth({
    uptimeMs: now - parts.startedAt,
    renderPool: {
      hostsWanted: hosts.shared.places.all.length,
      hostsReady: hosts.shared.places.filled,
      starvedSites: starvedSites(hosts),
      absentSites: hosts.own.absent,
      loopingSites: [...new Set([...losses.looping(now), ...hosts.quarantined])],
    },
    workers: { wanted: workers.count, ready: workers.ready.length, isCrashLooping: workers.looping > 0 },
    disks,
    isrCache: { problem },
    ...(caches.instances !== undefined && { redis: caches.instances }),
    ...(certificateProblems === undefined ? {} : { tlsCerts: { problems: certificateProblems } }),
  })
}
