import { type Guarded, guard } from '@svc/core'

/** The health report of `GET /__svc/health`. */
export const healthReport = guard.object({
  status: guard.oneOf('healthy', 'degraded'),
  uptime_secs: guard.number,
  checks: guard.recordOf(guard.string),
})
export type HealthReport = Guarded<typeof healthReport>

/** One line of a route listing. */
const routeInfo = guard.object({
  pattern: guard.string,
  kind: guard.oneOf('page', 'handler', 'metadata'),
  file: guard.string,
})

/** State of a site's app directory. */
export const siteManifestInfo = guard.object({
  routes: guard.arrayOf(routeInfo),
  problems: guard.arrayOf(guard.string),
})
export type SiteManifestInfo = Guarded<typeof siteManifestInfo>

/** The result of a scan of a site's directory. */
export const siteSurvey = guard.object({
  routes: guard.arrayOf(routeInfo),
  problems: guard.arrayOf(guard.object({ severity: guard.oneOf('error', 'warning'), text: guard.string })),
  /** True if any route exports `generateStaticParams`. */
  hasStaticParams: guard.boolean,
})
export type SiteSurvey = Guarded<typeof siteSurvey>

const workerStatus = guard.object({
  id: guard.number,
  pid: guard.number,
  state: guard.string,
  generation: guard.number,
  connections: guard.number,
})
const hostStatus = guard.object({ id: guard.string, pid: guard.number, state: guard.string, sites: guard.arrayOf(guard.string) })
export const siteStatus = guard.object({
  id: guard.string,
  label: guard.string,
  hostnames: guard.arrayOf(guard.string),
  root: guard.string,
  process: guard.string,
  state: guard.string,
  /** Number of problems that the last survey of its directory found. */
  problems: guard.optional(guard.number),
})
export type SiteStatus = Guarded<typeof siteStatus>

/** The answer of `svc status --json`. */
export const statusReport = guard.object({
  pid: guard.number,
  version: guard.string,
  generation: guard.number,
  uptime_secs: guard.number,
  listen: guard.arrayOf(guard.string),
  workers: guard.arrayOf(workerStatus),
  hosts: guard.arrayOf(hostStatus),
  sites: guard.arrayOf(siteStatus),
  last_reload: guard.nullable(guard.object({ at: guard.string, ok: guard.boolean, errors: guard.arrayOf(guard.string) })),
})
export type StatusReport = Guarded<typeof statusReport>

/** The verdict on a configuration that is not in service. */
export const configVerdict = guard.object({
  /** Number of sites that it would serve. */
  sites: guard.number,
  notices: guard.arrayOf(guard.string),
  /** None: it is valid. `path`: a key of the config file, or file and line of another one. */
  problems: guard.arrayOf(guard.object({ path: guard.string, message: guard.string })),
})
export type ConfigVerdict = Guarded<typeof configVerdict>

/** The answer to a reload. */
export const reloadReport = guard.object({
  ok: guard.boolean,
  generation: guard.number,
  /** Counts of sites: added, removed, changed. */
  changed: guard.recordOf(guard.number),
  needs_restart: guard.arrayOf(guard.string),
  errors: guard.arrayOf(guard.string),
  took_ms: guard.number,
})
export type ReloadReport = Guarded<typeof reloadReport>
