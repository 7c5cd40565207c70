import { join } from 'node:path'
import { hasApp, type SiteConfig } from '@svc/config'
import { replaceFile } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { type GenerationSpec, type HostEndpoint, PRODUCT_VERSION, type SiteStatus, type StatusReport } from '@svc/protocol'
import { addressUrl } from '../listen/resolve-listen.ts'
import type { MasterParts } from './parts.ts'

/** Describes sites for listings. */
export function siteStatuses(
  sites: readonly SiteConfig[],
  hosts: readonly HostEndpoint[],
  quarantined: readonly string[],
  problemsOf: (site: string) => number = () => 0,
): SiteStatus[] {
  const isServed = (id: string) => {
    const own = hosts.find(({ sites }) => sites !== '*' && sites.includes(id))
    // An absent host has no token.
    return own === undefined ? hosts.some(({ sites, token }) => sites === '*' && token !== '') : own.token !== ''
  }
  const state = (site: SiteConfig) => {
    if (site.maintenance) return 'maintenance'
    if (!hasApp(site)) return 'ok'
    if (quarantined.includes(site.id)) return 'quarantined'
    return isServed(site.id) ? 'ok' : 'degraded'
  }
  return sites.map((site) => ({
    id: site.id,
    label: site.label,
    hostnames: [...site.hostnames],
    root: site.root,
    process: site.process,
    state: state(site),
    ...(problemsOf(site.id) === 0 ? {} : { problems: problemsOf(site.id) }),
  }))
}

/** URLs of the addresses that the instance listens on. */
export function listenUrls(spec: GenerationSpec): string[] {
  return spec.listen.map(addressUrl)
}

/** The parts of a master that its status is about. */
export type StatusParts = Pick<MasterParts, 'spec' | 'clock' | 'startedAt' | 'workers' | 'hosts' | 'reloader'>

/** Returns the report of `svc status`. */
export function statusOf({ spec: current, clock, startedAt, workers, hosts, reloader }: StatusParts): StatusReport {
  const spec = current()
  return {
    pid: process.pid,
    version: PRODUCT_VERSION,
    generation: spec.generation,
    uptime_secs: Math.floor((clock.monotonic() - startedAt) / 1000),
    listen: listenUrls(spec),
    workers: workers.status(),
    hosts: hosts.status(spec),
    sites: siteStatuses(spec.sites, hosts.endpoints, hosts.quarantined),
    last_reload: reloader.last,
  }
}

/** Returns a site of a generation. @throws SUP_UNKNOWN_SITE */
export function requireSite({ sites }: Pick<GenerationSpec, 'sites'>, id: string): SiteConfig {
  const found = sites.find((site) => site.id === id)
  if (found !== undefined) return found
  throw new SupervisorError('SUP_UNKNOWN_SITE', `no site "${id}"; there are: ${sites.map((site) => site.id).join(', ')}`)
}

/**
 * Writes a diagnostic report of this process and the state of the instance into the state directory, without environment and command
 * line, where secrets could be. Returns its path.
 */
export async function writeReport(parts: MasterParts): Promise<string> {
  const report = process.report.getReport() as { environmentVariables?: unknown; header?: { commandLine?: unknown } }
  delete report.environmentVariables
  if (report.header !== undefined) delete report.header.commandLine
  const at = new Date(parts.clock.now()).toISOString().replaceAll(':', '-')
  const path = join(parts.spec().config.server.state_dir, `report-${at}-${process.pid}.json`)
  await replaceFile(path, JSON.stringify({ status: statusOf(parts), report }, undefined, 2))
  return path
}
