import { type Endpoint, type EndpointGroup, endpointGroups } from '../contract/endpoint.ts'
import { panelSubpage } from '../endpoints/admin/[page].ts'
import { endSilence } from '../endpoints/admin/alerts/silences/[id].ts'
import { silenceAlert, silences } from '../endpoints/admin/alerts/silences.ts'
import { panelAsset } from '../endpoints/admin/assets/[file].ts'
import { audit } from '../endpoints/admin/audit.ts'
import { cacheCount } from '../endpoints/admin/cache/count.ts'
import { cacheEntry, dropCacheEntry } from '../endpoints/admin/cache/entries/[key].ts'
import { cacheEntries } from '../endpoints/admin/cache/entries.ts'
import { purgeByTag } from '../endpoints/admin/cache/purge.ts'
import { warmCache } from '../endpoints/admin/cache/warm.ts'
import { renewCert } from '../endpoints/admin/certs/renew.ts'
import { certs } from '../endpoints/admin/certs.ts'
import { configDiff } from '../endpoints/admin/config/diff.ts'
import { configValues } from '../endpoints/admin/config/values.ts'
import { upload } from '../endpoints/admin/deploys/upload.ts'
import { adminReleases } from '../endpoints/admin/deploys.ts'
import { oneFlow } from '../endpoints/admin/flows/[request_id].ts'
import { flowStream } from '../endpoints/admin/flows/stream.ts'
import { flows } from '../endpoints/admin/flows.ts'
import { adminHealth } from '../endpoints/admin/health.ts'
import { flushLabel } from '../endpoints/admin/isolate/flush.ts'
import { login } from '../endpoints/admin/login.ts'
import { loginPage } from '../endpoints/admin/login-page.ts'
import { logout } from '../endpoints/admin/logout.ts'
import { overview } from '../endpoints/admin/overview.ts'
import { panel } from '../endpoints/admin/panel.ts'
import { changePlugin } from '../endpoints/admin/plugins/[name].ts'
import { plugins } from '../endpoints/admin/plugins.ts'
import { unblockClient } from '../endpoints/admin/rate-limit/[ip].ts'
import { rateLimit } from '../endpoints/admin/rate-limit.ts'
import { refreshSession } from '../endpoints/admin/session/refresh.ts'
import { session } from '../endpoints/admin/session.ts'
import { endSession } from '../endpoints/admin/sessions/[jti].ts'
import { sessions } from '../endpoints/admin/sessions.ts'
import { flushSite } from '../endpoints/admin/sites/[id]/flush.ts'
import { maintenance } from '../endpoints/admin/sites/[id]/maintenance.ts'
import { siteRoutes } from '../endpoints/admin/sites/[id]/routes.ts'
import { adminSiteDetails } from '../endpoints/admin/sites/[id].ts'
import { adminSites } from '../endpoints/admin/sites.ts'
import { runTask } from '../endpoints/admin/tasks/[name]/run.ts'
import { taskRuns } from '../endpoints/admin/tasks/[name]/runs.ts'
import { changeTask } from '../endpoints/admin/tasks/[name].ts'
import { tasks } from '../endpoints/admin/tasks.ts'
import { revokeToken } from '../endpoints/admin/tokens/[jti].ts'
import { issueToken } from '../endpoints/admin/tokens.ts'
import { upstreamServer } from '../endpoints/admin/upstreams/[name]/[server].ts'
import { upstreams } from '../endpoints/admin/upstreams.ts'
import { users } from '../endpoints/admin/users.ts'
import { vhosts } from '../endpoints/admin/vhosts.ts'
import { wafEvents } from '../endpoints/admin/waf/events.ts'
import { setWafMode } from '../endpoints/admin/waf/mode.ts'
import { changeWafRule, removeWafRule } from '../endpoints/admin/waf/rules/[id].ts'
import { addWafRule, wafRules } from '../endpoints/admin/waf/rules.ts'
import { testWaf } from '../endpoints/admin/waf/test.ts'
import { waf } from '../endpoints/admin/waf.ts'
import { restartWorker } from '../endpoints/admin/workers/[n]/restart.ts'
import { restartStatus } from '../endpoints/admin/workers/restart/[id].ts'
import { restartWorkers } from '../endpoints/admin/workers/restart.ts'
import { workers } from '../endpoints/admin/workers.ts'
import { validateConfig } from '../endpoints/api/config/validate.ts'
import { config } from '../endpoints/api/config.ts'
import { rollback } from '../endpoints/api/deploy/rollback.ts'
import { deploy, releases } from '../endpoints/api/deploy.ts'
import { invalidate } from '../endpoints/api/invalidate.ts'
import { openApi } from '../endpoints/api/openapi.json.ts'
import { reload } from '../endpoints/api/reload.ts'
import { revalidate } from '../endpoints/api/revalidate.ts'
import { flushIsolates } from '../endpoints/api/sites/[id]/isolate/flush.ts'
import { siteDetails } from '../endpoints/api/sites/[id].ts'
import { sites } from '../endpoints/api/sites.ts'
import { status } from '../endpoints/api/status.ts'
import { purgeApp } from '../endpoints/cache/purge-app.ts'
import { panelPurgeL0, purgeL0 } from '../endpoints/cache/purge-l0.ts'
import { purgeModules } from '../endpoints/cache/purge-modules.ts'
import { purgeProxy } from '../endpoints/cache/purge-proxy.ts'
import { cacheStats } from '../endpoints/cache/stats.ts'
import { heapSnapshot } from '../endpoints/debug/heap-snapshot.ts'
import { isolates } from '../endpoints/debug/isolates.ts'
import { modules } from '../endpoints/debug/modules.ts'
import { router } from '../endpoints/debug/router.ts'
import { healthReport } from '../endpoints/health/health-report.ts'
import { liveness } from '../endpoints/health/liveness.ts'
import { metrics } from '../endpoints/metrics/metrics.ts'
import { alerts } from '../endpoints/obs/alerts.ts'
import { analytics } from '../endpoints/obs/analytics.ts'
import { obsCacheEntry } from '../endpoints/obs/cache/entry.ts'
import { changes } from '../endpoints/obs/changes.ts'
import { dashboard } from '../endpoints/obs/dashboard.ts'
import { logStream } from '../endpoints/obs/logs/stream.ts'
import { logs } from '../endpoints/obs/logs.ts'
import { slos } from '../endpoints/obs/slos.ts'
import { summary } from '../endpoints/obs/summary.ts'

/** Keys of the configuration that decide which endpoints there are. */
interface EndpointSettings {
  /** The groups that are served. */
  readonly groups: ReadonlySet<EndpointGroup>
  /** Paths of the health report; duplicates count once, none when the report is off. */
  readonly healthPaths: readonly string[]
  /** True if the health report names its components. */
  readonly hasHealthDetails: boolean
  /** Paths of the metrics; none when they are off. */
  readonly metricsPaths: readonly string[]
}

/** Management: below `/__svc/` for the machine itself, and without that for users with the role super_admin. */
const managed: readonly Endpoint[] = [
  invalidate,
  revalidate,
  reload,
  deploy,
  releases,
  rollback,
  config,
  validateConfig,
  sites,
  siteDetails,
  flushIsolates,
  status,
].flatMap((one) => [
  one,
  { ...one, path: one.path.replace('/__svc', ''), group: 'api', access: 'super_admin', isForTenants: false },
])

/** The endpoints of other groups that the API of the panel has too, with its paths and access. */
const administered: readonly Endpoint[] = (
  [
    [purgeProxy, 'cache/purge-proxy', 'tenant_admin'],
    [invalidate, 'cache/invalidate', 'tenant_admin'],
    [cacheStats, 'cache/stats', 'viewer'],
    [isolates, 'isolates', 'viewer'],
    [config, 'config', 'super_admin'],
    [reload, 'reload', 'super_admin'],
    [deploy, 'deploys', 'tenant_admin'],
    [rollback, 'deploys/rollback', 'tenant_admin'],
  ] as const
).map(([one, path, access]) => ({ ...one, path: `/__svc/admin/api/${path}`, group: 'admin', access }))

/** The endpoints whose path no key of the configuration moves. The file of each is named after its path, or its first path. */
const fixed: readonly Endpoint[] = [
  liveness,

  purgeL0,
  purgeProxy,
  purgeModules,
  cacheStats,
  purgeApp,

  router,
  modules,
  isolates,
  heapSnapshot,

  ...managed,

  summary,
  analytics,
  { ...cacheEntries, path: '/__svc/obs/cache', group: 'obs' },
  obsCacheEntry,
  logs,
  logStream,
  alerts,
  slos,
  changes,
  dashboard,

  login,
  logout,
  session,
  refreshSession,
  users,
  sessions,
  endSession,
  issueToken,
  revokeToken,

  panelPurgeL0,
  ...administered,
  adminSites,
  adminSiteDetails,
  adminReleases,
  upload,
  purgeByTag,
  cacheCount,
  cacheEntries,
  cacheEntry,
  dropCacheEntry,
  warmCache,
  flushLabel,
  restartWorkers,
  restartStatus,
  workers,
  restartWorker,
  overview,
  adminHealth,
  siteRoutes,
  flushSite,
  vhosts,
  certs,
  renewCert,
  upstreams,
  upstreamServer,
  maintenance,
  waf,
  setWafMode,
  wafRules,
  addWafRule,
  changeWafRule,
  removeWafRule,
  testWaf,
  wafEvents,
  rateLimit,
  unblockClient,
  tasks,
  changeTask,
  runTask,
  taskRuns,
  plugins,
  changePlugin,
  silences,
  silenceAlert,
  endSilence,
  configValues,
  configDiff,
  audit,
  flows,
  flowStream,
  oneFlow,

  panel,
  loginPage,
  panelAsset,
  panelSubpage,
]

/** The one list of endpoints: routing, the listing of unknown paths, the command line, OpenAPI and the reference page read it. */
export function listEndpoints(settings: EndpointSettings): Endpoint[] {
  const moved = [
    ...[...new Set(settings.healthPaths)].map((path) => healthReport(path, settings.hasHealthDetails)),
    ...[...new Set(settings.metricsPaths)].map(metrics),
  ]
  const served: Endpoint[] = [...moved, ...fixed, openApi(() => served)].filter(({ group }) => settings.groups.has(group))
  return served
}

/** The keys of the configuration that the list depends on. */
interface EndpointConfig {
  readonly endpoints: Readonly<Record<'health' | 'metrics' | 'api' | 'obs' | 'admin', boolean>>
  readonly health: { readonly enabled: boolean; readonly path: string; readonly include_details: boolean }
  readonly metrics: { readonly enabled: boolean; readonly path: string }
  readonly scaling: { readonly health_path: string }
}

/** The settings that a configuration gives. */
export function endpointSettings({ endpoints, health, metrics: { enabled, path }, scaling }: EndpointConfig): EndpointSettings {
  const isServed = (group: EndpointGroup) => group === 'cache' || group === 'debug' || endpoints[group]
  return {
    groups: new Set(endpointGroups.filter(isServed)),
    healthPaths: health.enabled ? [health.path, scaling.health_path] : [],
    hasHealthDetails: health.include_details,
    metricsPaths: ['/metrics', ...(enabled ? [path] : [])],
  }
}

/** The settings with which every endpoint is served, at its usual path. */
export const allEndpoints: EndpointSettings = {
  groups: new Set(endpointGroups),
  healthPaths: ['/__svc/health'],
  hasHealthDetails: true,
  metricsPaths: ['/metrics', '/__svc/metrics'],
}
