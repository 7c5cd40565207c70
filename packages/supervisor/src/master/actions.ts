import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { hasApp, type SiteConfig } from '@svc/config'
import { flushSite, forgetModules, listIsolates, listModules, SupervisorError } from '@svc/processes'
import {
  type AppReset,
  type CacheReport,
  type FlowPage,
  type FlowQuery,
  type IsolateList,
  type IsolateModules,
  type IsolatePool,
  type ModulePurge,
  newerFirst,
  type RestartStatus,
  type ServerOrder,
  type SiteManifestInfo,
  type TaskOrder,
  type UpstreamServer,
  type UpstreamSummary,
} from '@svc/protocol'
import { downKey, enabledKey } from '../overrides/override-settings.ts'
import type { MasterParts } from './parts.ts'
import type { SiteUsage } from './share-notices.ts'
import { requireSite } from './status.ts'
import { REPORT, reportsOf } from './worker-reports.ts'

/** Most sites listed in the figures of a cache. */
const MAX_LISTED = 100
/** Most isolates in a list. */
const MAX_ISOLATES = 5_000

/** Directories below a site's root that may hold its routes. */
const APP_DIRECTORIES = ['', 'app', 'src/app'] as const

/** Returns the sites whose root or app directory is at the path, links followed. */
export async function sitesAt(sites: readonly SiteConfig[], path: string): Promise<SiteConfig[]> {
  const resolved = (found: string) => realpath(found).catch(() => undefined)
  const wanted = await resolved(path)
  if (wanted === undefined) return []
  const isAt = async (site: SiteConfig) => {
    const own = await Promise.all(APP_DIRECTORIES.map((name) => resolved(join(site.root, name))))
    return own.includes(wanted)
  }
  const are = await Promise.all(sites.map((site) => hasApp(site) && isAt(site)))
  return sites.filter((_, index) => are[index])
}

/**
 * Gives a site fresh isolates in every host.
 * @throws SUP_UNKNOWN_SITE
 */
export async function flushIsolates(parts: MasterParts, site: string): Promise<{ isolates: number }> {
  if (!hasApp(requireSite(parts.spec(), site))) return { isolates: 0 }
  return { isolates: await flushSite(parts.hosts.runningFor(site), site, parts.logger) }
}

/** Forgets compiled modules in every isolate and on disk. */
export async function purgeModules(parts: MasterParts, purge: ModulePurge): Promise<{ evicted: number }> {
  return { evicted: await forgetModules(parts.hosts.running, purge, parts.logger) }
}

/** Forgets modules, routes and pages of the sites at a directory. */
export async function resetApp(parts: MasterParts, root: string): Promise<AppReset> {
  const { sites } = parts.spec()
  const found = await sitesAt(sites, root)
  let evicted = 0
  let l0 = 0
  let isr = 0
  for (const site of found) {
    evicted += (await purgeModules(parts, { dir: site.root })).evicted
    const outcome = await parts.changes.changed(site.id, [])
    l0 += outcome?.l0 ?? 0
    isr += outcome?.isr ?? 0
  }
  const roots = found.length === 0 ? sites.filter(hasApp).map((site) => site.root) : []
  return { sites: found.map(({ id }) => id), roots, evicted, l0, isr }
}

/** The render threads of all hosts by site, as of their last pong. */
export function isolatePools(parts: MasterParts): IsolatePool[] {
  return parts.hosts.running.flatMap(({ id, pid, pools }) =>
    pools.map(({ site, threads, active, queued }) => ({ host: id, pid, site, threads, active, queued })),
  )
}

/**
 * The isolates of sites, or of all.
 * @throws SUP_UNKNOWN_SITE
 */
export async function isolatesOf(
  { hosts, spec, clock, logger }: Pick<MasterParts, 'hosts' | 'spec' | 'clock' | 'logger'>,
  sites: readonly string[] | undefined,
): Promise<IsolateList> {
  for (const site of sites ?? []) requireSite(spec(), site)
  const asked = sites === undefined ? hosts.running : [...new Set(sites.flatMap((site) => hosts.runningFor(site)))]
  const { isolates, missing } = await listIsolates(asked, sites, logger)
  const labels = new Map(spec().sites.map(({ id, label }) => [id, label]))
  // A unit runs as the user of its site and may send anything: it speaks for that site alone.
  const unitSites = new Map(hosts.own.running.map((unit) => [unit.id, unit.site.id]))
  const credible = isolates.filter(({ site, host }) => (unitSites.get(host) ?? site) === site).slice(0, MAX_ISOLATES)
  const shown = credible.map(({ site: id, host, thread, state, startedAt, lastBuildMs, heapBytes, requests }) => ({
    site: id,
    // A site that a reload has removed meanwhile.
    label: labels.get(id) ?? id,
    host,
    thread,
    state,
    started_at: startedAt === undefined ? null : new Date(Math.min(Math.max(0, startedAt), clock.now())).toISOString(),
    last_build_ms: Math.round(lastBuildMs * 100) / 100,
    heap_bytes: heapBytes ?? null,
    requests,
  }))
  return { isolates: shown, missing: [...missing] }
}

/**
 * The compiled modules of each isolate of a site.
 * @throws SUP_UNKNOWN_SITE
 */
export async function modulesOf(parts: MasterParts, site: string): Promise<{ isolates: IsolateModules[] }> {
  if (!hasApp(requireSite(parts.spec(), site))) return { isolates: [] }
  return { isolates: await listModules(parts.hosts.runningFor(site), site, parts.logger) }
}

/**
 * Writes the heap of an isolate of a site into a file.
 * @throws SUP_UNKNOWN_SITE, SUP_SNAPSHOT, and RENDER_SNAPSHOT of the host
 */
export async function heapSnapshotOf({ heapSnapshots, hosts, spec }: MasterParts, site: string) {
  const { process } = requireSite(spec(), site)
  // Its process runs as another user, who may not write here.
  if (process === 'own')
    throw new SupervisorError('SUP_SNAPSHOT', `${site} has a process of its own: no heap snapshot is taken of it`)
  return await heapSnapshots.take(site, hosts.shared.running)
}

/**
 * The routes and problems of a site, as its render host finds them.
 * @throws SUP_UNKNOWN_SITE, and the error of the survey
 */
export async function routesOf({ spec, surveys }: MasterParts, id: string): Promise<SiteManifestInfo> {
  // Without an application, a server of a vhost file has no routes to list.
  if (!hasApp(requireSite(spec(), id))) return { routes: [], problems: [] }
  const { routes, problems } = await surveys.survey(id)
  return { routes, problems: problems.map(({ text }) => text) }
}

/** Begins to replace the process of this place in `status`: `w1`... workers, `h1`... render hosts. */
export function restartProcess({ restarts, workers, hosts, spec }: MasterParts, id: string): { status?: RestartStatus } {
  const [, kind, digits] = /^([wh])([1-9]\d{0,5})$/.exec(id) ?? []
  const index = Number(digits) - 1
  const name = kind === 'h' ? hosts.status(spec())[index]?.id : id
  const one = [...workers.replaceables, ...hosts.replaceables].find((replaceable) => replaceable.id === name)
  return kind === undefined || one === undefined ? {} : { status: restarts.beginOne(one) }
}

/** State of the upstreams, summed over the workers that report in time. */
export async function upstreamsOf(parts: MasterParts): Promise<UpstreamSummary> {
  const { reports } = await reportsOf(parts, ({ peer }) => peer.call('upstreams', undefined, REPORT))
  const groups = new Map<string, UpstreamSummary['groups'][number]>()
  for (const group of reports.flatMap((report) => report.groups)) {
    const known = groups.get(group.name)
    groups.set(group.name, known === undefined ? group : { ...group, servers: summed(known.servers, group.servers) })
  }
  const isCut = reports.some((report) => report.is_cut)
  return { groups: [...groups.values()], is_cut: isCut, answered: reports.length, total: parts.workers.count }
}

/** Recorded flows of the workers that answer in time, the newest first. */
export async function flowsOf(parts: MasterParts, query: FlowQuery): Promise<FlowPage> {
  const { reports } = await reportsOf(parts, ({ peer }) => peer.call('flows', query, REPORT))
  const flows = reports.flatMap((report) => report.flows).sort(newerFirst)
  return { flows: flows.slice(0, query.limit), answered: reports.length, total: parts.workers.count }
}

/** Adds up the states of the same servers. During a reload workers may have different ones. */
function summed(left: readonly UpstreamServer[], right: readonly UpstreamServer[]): UpstreamServer[] {
  return right.map((server, index) => {
    const other = left[index]
    if (other?.id !== server.id) return server
    return {
      ...server,
      avoided_by: server.avoided_by + other.avoided_by,
      in_flight: server.in_flight + other.in_flight,
      failures: server.failures + other.failures,
    }
  })
}

/**
 * Switches the maintenance of a site, over restarts and reloads.
 * @throws SUP_UNKNOWN_SITE, SUP_OVERRIDE
 */
export async function setMaintenance(
  { overrides, spec, reloader }: MasterParts,
  site: string,
  maintenance: SiteConfig['maintenance'],
  username: string,
): Promise<undefined> {
  await overrides.set(`sites.${site}.maintenance`, maintenance, username, spec(), reloader.change.bind(reloader))
}

/**
 * Takes a server of an upstream group out of service in all workers, or back into it, over restarts and reloads.
 * @throws UNKNOWN_UPSTREAM, SUP_OVERRIDE
 */
export async function setServerDown(
  { overrides, spec, reloader }: MasterParts,
  { upstream, server, down, username }: ServerOrder,
): Promise<undefined> {
  await overrides.set(downKey(upstream, server), down, username, spec(), reloader.change.bind(reloader))
}

/**
 * Enables or disables a task, over restarts and reloads.
 * @throws SUP_UNKNOWN_TASK, SUP_OVERRIDE
 */
export async function setTaskEnabled(
  { overrides, spec, reloader }: MasterParts,
  { name, enabled, username }: TaskOrder,
): Promise<undefined> {
  await overrides.set(enabledKey(name), enabled, username, spec(), reloader.change.bind(reloader))
}

/**
 * Ends an override.
 * @throws SUP_NO_OVERRIDE, SUP_OVERRIDE
 */
export async function resetOverride({ overrides, reloader }: MasterParts, key: string): Promise<undefined> {
  await overrides.reset(key, reloader.change.bind(reloader))
}

/** Returns the sites with the largest shares of a store, for display. */
function largestUsers(usages: readonly SiteUsage[]): CacheReport['isr']['sites'] {
  const active = usages.filter(({ entries }) => entries > 0)
  active.sort((a, b) => b.bytes - a.bytes)
  return active
    .slice(0, MAX_LISTED)
    .map(({ label, weight, entries, bytes, evictions }) => ({ label, cache_weight: weight, entries, bytes, evictions }))
}

/** Figures of all layers, for display. */
export async function cacheStats(parts: MasterParts): Promise<CacheReport> {
  const { workers, hosts, caches, spec } = parts
  // A worker that does not respond counts as empty.
  const { reports } = await reportsOf(parts, ({ peer }) => peer.call('cacheStats', undefined, REPORT))
  const l0Entries = reports.reduce((sum, reply) => sum + reply.l0Entries, 0)
  const l0Bytes = reports.reduce((sum, reply) => sum + reply.l0Bytes, 0)
  const { l0, isr, proxy } = spec().config.cache
  const { last, unsettled } = caches.purges.hostState()
  const pools = isolatePools(parts)
  return {
    l0: { entries: l0Entries, bytes: l0Bytes, max_bytes: l0.max_bytes * workers.count, workers: workers.ready.length },
    isr: {
      ...caches.store.room.size(),
      max_entries: isr.max_entries,
      max_bytes: isr.max_bytes,
      sites: largestUsers(caches.store.room.usages()),
    },
    proxy: { ...caches.proxy.room.size(), max_bytes: proxy.max_bytes, sites: largestUsers(caches.proxy.room.usages()) },
    isolates: { hosts: hosts.shared.places.filled, threads: pools.reduce((sum, { threads }) => sum + threads, 0) },
    leases: { held: caches.leases.held, waiting: caches.leases.waiting },
    purges: { last, unsettled: unsettled.length },
  }
}
