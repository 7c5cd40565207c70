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
  /** Declared storage of its responses. Undefined: their data decide. */
  cache: guard.optional(
    guard.object({ mode: guard.oneOf('never', 'until_purged', 'timed'), secs: guard.optional(guard.number) }),
  ),
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

/** A certificate, or a host that is to get one. */
const certificateReport = guard.object({
  /** Host names, exact ones and `*.suffix`. */
  names: guard.arrayOf(guard.string),
  source: guard.oneOf('file', 'acme', 'self_signed'),
  /** `pending`: it is not issued yet. `failed`: nor could it be, `reason` says why. */
  state: guard.oneOf('valid', 'not_yet_valid', 'expired', 'pending', 'failed'),
  issuer: guard.nullable(guard.string),
  /** RFC 3339. */
  not_before: guard.nullable(guard.string),
  not_after: guard.nullable(guard.string),
  /** Path of the certificate in a file. */
  file: guard.nullable(guard.string),
  /** Why the last order failed. */
  reason: guard.nullable(guard.string),
})
export const certificateReports = guard.object({ certificates: guard.arrayOf(certificateReport) })
export type CertificateReport = Guarded<typeof certificateReport>

/** `ordered`: a new certificate is being ordered. `file`: the one of the host is in a file. `unknown`: the host gets none. */
export const renewal = guard.object({ outcome: guard.oneOf('ordered', 'file', 'unknown') })
export type Renewal = Guarded<typeof renewal>

/** A server of an upstream group, over the workers that reported. */
const upstreamServer = guard.object({
  /** Its name in the group: see `serverIds`. */
  id: guard.string,
  address: guard.string,
  weight: guard.number,
  is_backup: guard.boolean,
  /** Taken out of service by the configuration. */
  is_down: guard.boolean,
  /** Workers that send it no requests for now, because it failed. */
  avoided_by: guard.number,
  in_flight: guard.number,
  /** Recent failures. */
  failures: guard.number,
})
export type UpstreamServer = Guarded<typeof upstreamServer>
const upstreamGroup = guard.object({ name: guard.string, balance: guard.string, servers: guard.arrayOf(upstreamServer) })

/** Upstream groups of one worker. `is_cut`: there are more. */
export const upstreamReport = guard.object({ groups: guard.arrayOf(upstreamGroup), is_cut: guard.boolean })
export type UpstreamReport = Guarded<typeof upstreamReport>

/** The same of the instance: `answered` of `total` workers are in it. */
export const upstreamSummary = guard.object({
  groups: guard.arrayOf(upstreamGroup),
  is_cut: guard.boolean,
  answered: guard.number,
  total: guard.number,
})
export type UpstreamSummary = Guarded<typeof upstreamSummary>
