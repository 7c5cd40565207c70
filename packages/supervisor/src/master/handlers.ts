import type { PurgeOrder } from '@svc/cache'
import { asError, type Handlers, messageOf } from '@svc/core'
import type { hostParentMethods, masterMethods, PurgeOutcome, ReloadReport } from '@svc/protocol'
import type { ControlHandlers } from '../control/control-server.ts'
import type { RelayHandler } from '../instances/relay-scripts.ts'
import {
  cacheStats,
  flowsOf,
  flushIsolates,
  heapSnapshotOf,
  isolatePools,
  isolatesOf,
  modulesOf,
  purgeModules,
  resetApp,
  resetOverride,
  restartProcess,
  routesOf,
  setMaintenance,
  setServerDown,
  setTaskEnabled,
  upstreamsOf,
} from './actions.ts'
import { healthOf } from './instance-health.ts'
import { l0EntriesOf, l0EntryOf } from './l0-entries.ts'
import type { MasterParts } from './parts.ts'
import { pluginsOf, setPluginEnabled } from './plugins.ts'
import { siteStatuses, statusOf } from './status.ts'
import { summaryOf } from './summary.ts'
import { removeWafRule, setWafMode, setWafRule } from './waf.ts'

/** Handlers that several boundaries share. */
function sharedHandlers(parts: MasterParts) {
  return {
    purge: ({ order }) => parts.caches.purge(order),
    purgeModules: (purge) => purgeModules(parts, purge),
    resetApp: ({ root }) => resetApp(parts, root),
    flushIsolates: ({ site }) => flushIsolates(parts, site),
    status: () => statusOf(parts),
    reload: () => parts.reloader.reload(),
    restartRenderers: () => parts.restarts.begin(),
    overrides: () => ({ overrides: parts.overrides.list() }),
    restartStatus: async ({ id, wait }) => ({ status: await parts.restarts.status(id, wait) }),
  } satisfies Partial<Handlers<typeof masterMethods>> & Partial<ControlHandlers>
}

/** The master's handlers for one worker, except those of its fleet. */
export function workerHandlers(
  parts: MasterParts,
  connection: object,
): Omit<Handlers<typeof masterMethods>, 'ready' | 'wornOut'> {
  return {
    ...sharedHandlers(parts),
    hostLost: ({ host, sites }) => void parts.hosts.noteInFlight(host, sites),
    health: () => healthOf(parts),
    metrics: async () => {
      const { workers, hosts, metrics } = parts
      return { text: await metrics.text([...workers.ready, ...hosts.measured]) }
    },
    lease: ({ key }, context) => parts.caches.leases.lease(connection, key, context),
    leaseHeld: ({ prefixes }) => ({ isHeld: parts.caches.leases.isHeld(prefixes) }),
    leaseEnded: ({ id, outcome }) => void parts.caches.leases.ended(connection, id, outcome),
    pools: () => ({ pools: isolatePools(parts) }),
    isolates: ({ sites }) => isolatesOf(parts, sites),
    modules: ({ site }) => modulesOf(parts, site),
    heapSnapshot: ({ site }) => heapSnapshotOf(parts, site),
    cacheStats: () => cacheStats(parts),
    l0Entries: (query) => l0EntriesOf(parts, query),
    l0Entry: (lookup) => l0EntryOf(parts, lookup),
    audit: async (record) => void (await parts.audit.add(record)),
    deploy: (order) => parts.releases.deploy(order),
    rollback: (order) => parts.releases.rollback(order),
    beginUpload: (start) => parts.uploads.begin(connection, start),
    endUpload: (end) => parts.uploads.end(connection, end),
    releases: ({ sites }) => ({ releases: parts.releases.list(sites) }),
    setMaintenance: ({ site, maintenance, username }) => setMaintenance(parts, site, maintenance ?? false, username),
    setServerDown: (order) => setServerDown(parts, order),
    auditLog: (query) => parts.audit.page(query),
    checkConfig: ({ toml }) => parts.configChecks.check(toml),
    previewReload: () => parts.reloader.preview(),
    configValues: (query) => parts.effective.page(query),
    restartProcess: ({ id }) => restartProcess(parts, id),
    certificates: () => ({ certificates: parts.certificates.report() }),
    renewCertificate: ({ host }) => ({ outcome: parts.certificates.renew(host) }),
    upstreams: () => upstreamsOf(parts),
    alerts: () => parts.alerts.report(),
    silenceAlert: (order) => parts.silences.set(order),
    silences: () => ({ silences: parts.silences.list() }),
    endSilence: async ({ id }) => ({ isFound: await parts.silences.end(id) }),
    slos: () => parts.slos.report(),
    flows: (query) => flowsOf(parts, query),
    followFlows: (filter, context) => parts.flowFeed.follow(filter, context),
    traffic: (batch) => void parts.analytics.add(batch),
    analytics: (query) => parts.analytics.report(query),
    summary: (query) => summaryOf(parts, query),
    log: (batch) => void parts.logs.addBatch(batch),
    logs: (query) => parts.logs.page(query),
    followLogs: ({ filter }, context) => parts.logs.follow(filter, context),
    tasks: () => ({ tasks: parts.tasks.list() }),
    taskRuns: ({ name }) => ({ runs: parts.tasks.runs(name) }),
    runTask: ({ name }) => parts.tasks.run(name),
    setTaskEnabled: (order) => setTaskEnabled(parts, order),
    countWafMatch: ({ rule, client }) => parts.ruleRates.take(rule, client),
    wafMatched: ({ events }) => void parts.wafEvents.add(events),
    wafEvents: (query) => parts.wafEvents.page(query),
    setWafMode: (order) => setWafMode(parts, order),
    setWafRule: (order) => setWafRule(parts, order),
    removeWafRule: (order) => removeWafRule(parts, order),
    pluginFailed: (order) => void parts.plugins.switchOff(order),
    plugins: () => pluginsOf(parts),
    setPluginEnabled: (order) => setPluginEnabled(parts, order),
    takeSlices: async ({ orders }) => ({ slices: await parts.rateLimits.take(orders) }),
    returnSlices: ({ unused }) => void parts.rateLimits.giveBack(unused),
    limitRequests: ({ orders }) => ({ replies: orders.map((order) => parts.limitZones.admit(order)) }),
    beginConnections: ({ orders }) => ({ replies: orders.map((order) => parts.limitZones.begin(connection, order)) }),
    endConnections: ({ ids }) => void parts.limitZones.end(connection, ids),
    countedClients: () => parts.rateLimits.list(),
    unblockClient: async ({ client }) => ({ isFound: await parts.rateLimits.unblock(client) }),
    siteInfo: ({ site }) => routesOf(parts, site),
    login: (request) => parts.sessions.login(request),
    refreshSession: (request) => parts.sessions.refresh(request),
    issueToken: (request) => parts.sessions.issueToken(request),
    revokeSession: async (request) => ({ isFound: await parts.sessions.revoke(request) }),
    sessions: () => ({ sessions: parts.sessions.list() }),
    settleSite: async ({ site }) => void (await parts.changes.settled(site)),
  }
}

/** The parts of a master that render hosts call. */
interface HostParts extends Pick<MasterParts, 'logs'> {
  readonly purge: (order: PurgeOrder) => Promise<PurgeOutcome>
  readonly isolateLost: (site: string) => void
  readonly sharedScript: RelayHandler
}

/** The master's handlers for the render hosts. */
export function hostHandlers({ purge, isolateLost, sharedScript, logs }: HostParts): Handlers<typeof hostParentMethods> {
  return {
    purge: ({ order }) => purge(order),
    isolateLost: ({ site }) => void isolateLost(site),
    sharedScript: (call, { bytes }) => sharedScript(call, bytes),
    log: (batch) => void logs.addBatch(batch),
  }
}

/** Operations of the command line that the audit log records; the others only read. */
const recorded = [
  'stop',
  'reload',
  'purge',
  'purgeModules',
  'resetApp',
  'flushIsolates',
  'restartRenderers',
  'resetOverride',
] as const satisfies readonly (keyof ControlHandlers)[]

/** The same handlers; each operation is recorded with its result. Only the user of the instance can open the socket. */
function withAudit(handlers: ControlHandlers, { audit, clock, logger }: MasterParts): ControlHandlers {
  const username = `cli:${process.getuid?.() ?? 0}`
  const record = async (action: string, request: unknown, result: 'ok' | 'failed', detail: string) => {
    const target = request === undefined ? '{}' : JSON.stringify(request)
    const at = new Date(clock.now()).toISOString()
    const entry = { at, username, address: '', action: `svc ${action}`, target, result, detail, request_id: '' }
    await audit.add(entry).catch((error) => logger.error({ err: asError(error) }, 'failed to record an operation'))
  }
  const audited = recorded.map((name) => {
    const handle = handlers[name] as (request: unknown, context: unknown) => unknown
    const act = async (request: unknown, context: unknown) => {
      try {
        const answer = await handle(request, context)
        // A reload that fails answers with its errors.
        const { ok = true, errors = [] } = (answer ?? {}) as Partial<ReloadReport>
        await record(name, request, ok ? 'ok' : 'failed', errors.join('; '))
        return answer
      } catch (error) {
        await record(name, request, 'failed', messageOf(error))
        throw error
      }
    }
    return [name, act] as const
  })
  return { ...handlers, ...Object.fromEntries(audited) }
}

/** The master's handlers for the command line. */
export function controlHandlers(parts: MasterParts, stop: () => void): ControlHandlers {
  const handlers: ControlHandlers = {
    ...sharedHandlers(parts),
    stop: () => {
      setImmediate(stop)
      return { pid: process.pid }
    },
    sites: () => {
      const { spec, hosts, surveys } = parts
      return { sites: siteStatuses(spec().sites, hosts.endpoints, hosts.quarantined, (site) => surveys.problemCount(site)) }
    },
    resetOverride: ({ key }) => resetOverride(parts, key),
    routes: ({ site }) => routesOf(parts, site),
  }
  return withAudit(handlers, parts)
}
