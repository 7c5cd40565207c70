import { type Guarded, guard, method } from '@svc/core'
import { alertReport, silence, silenceOrder, sloReport } from './alert-messages.ts'
import { auditPage, auditQuery, auditRecord } from './audit-messages.ts'
import {
  appReset,
  cacheReport,
  isolateList,
  isolateModules,
  isolatePool,
  leaseOutcome,
  leaseReply,
  modulePurge,
  purgeMessage,
  purgeOrder,
  purgeOutcome,
  purgeState,
  restartStatus,
  workerCacheStats,
} from './cache-messages.ts'
import { configValuePage, configValueQuery, reloadPreview } from './config-messages.ts'
import { flowFilter, flowList, flowPage, flowQuery } from './flow-messages.ts'
import type { HostEndpoint, PackedGeneration } from './generation.ts'
import { l0Found, l0List, l0Lookup, l0Page, l0Query } from './l0-messages.ts'
import {
  connectionOrders,
  connectionReplies,
  endedConnections,
  requestLimitOrders,
  requestLimitReplies,
} from './limit-messages.ts'
import { logBatch, logFilter, logPage, logQuery } from './log-messages.ts'
import { maintenanceOrder, override, serverOrder } from './override-messages.ts'
import { pluginOff, pluginOrder, pluginReport, pluginStatus } from './plugin-messages.ts'
import { countedClients, sliceOrders, slices, unusedSlices } from './rate-limit-messages.ts'
import { deployOrder, release, rollbackOrder, siteRelease, uploadEnd, uploadPlace, uploadStart } from './release-messages.ts'
import {
  certificateReports,
  configVerdict,
  healthReport,
  reloadReport,
  renewal,
  siteManifestInfo,
  statusReport,
  upstreamReport,
  upstreamSummary,
} from './reports.ts'
import {
  issueReply,
  loginRequest,
  refreshRequest,
  revocations,
  revokeRequest,
  sessionRecord,
  tokenRequest,
} from './session-messages.ts'
import { summaryQuery, summaryReport } from './summary-messages.ts'
import { taskOrder, taskRequest, taskResponse, taskRun, taskStatus } from './task-messages.ts'
import { analyticsReport, trafficBatch, trafficQuery } from './traffic-messages.ts'
import {
  rateOrder,
  rateReply,
  wafBatch,
  wafEventPage,
  wafEventQuery,
  wafModeOrder,
  wafRemoval,
  wafRuleOrder,
} from './waf-messages.ts'

const packedGeneration = guard.anything as guard.Guard<PackedGeneration>
const hostEndpoints = guard.arrayOf(
  guard.object({ id: guard.string, socket: guard.string, token: guard.string, sites: guard.anything }),
) as guard.Guard<HostEndpoint[]>

/** The response below `/.well-known/acme-challenge/` for a certificate authority (RFC 8555 section 8.3). */
const acmeProof = guard.object({ token: guard.string, proof: guard.string })
export type AcmeProof = Guarded<typeof acmeProof>

/** Methods of a worker for the master. */
export const workerMethods = {
  /** Builds generation n+1 beside the current one. Rejects when it cannot. */
  prepare: method(
    guard.object({
      spec: packedGeneration,
      hosts: hostEndpoints,
      purges: guard.optional(purgeState),
      revocations: guard.optional(revocations),
      /** Plugins that are off, of those that it may load. */
      pluginsOff: guard.optional(guard.arrayOf(pluginOff)),
    }),
    guard.nothing,
  ),
  /** Swaps to the prepared generation: listens on new addresses, stops listening on old ones. */
  commit: method(guard.object({ generation: guard.number }), guard.nothing),
  /** Forgets a prepared generation. */
  abandon: method(guard.object({ generation: guard.number }), guard.nothing),
  /** The set of render hosts has changed (one died and was replaced, or was added). */
  hosts: method(guard.object({ hosts: hostEndpoints }), guard.nothing),
  /** The proofs of the orders that are open, in place of those before. */
  proofs: method(guard.object({ proofs: guard.arrayOf(acmeProof) }), guard.nothing),
  /** A site's files changed: forget its manifest. */
  siteChanged: method(guard.object({ site: guard.string }), guard.nothing),
  /**
   * A purge: drops matching entries from memory, keeps fills in flight from being stored, waits for its own writes in
   * flight, and answers with how many L0 entries it dropped. From then on the worker serves nothing older that matches.
   */
  purge: method(purgeMessage, guard.object({ l0: guard.number })),
  /** The shared stores hold nothing any more that this purge matches. */
  purgeSettled: method(guard.object({ number: guard.number }), guard.nothing),
  /** Tokens have ended before their time. From the answer on the worker accepts none of them. */
  revocations: method(revocations, guard.nothing),
  /** A client has its whole budget again. */
  unblockClient: method(guard.object({ client: guard.string }), guard.nothing),
  /** Renders pages of a site that can be known in advance (`generateStaticParams`) into the ISR store, in the background. */
  warm: method(guard.object({ site: guard.string }), guard.nothing),
  /** Makes the request of a task. Aborted with the call. */
  runTask: method(taskRequest, taskResponse),
  /** A plugin is off in all workers, or is on again. */
  setPluginOff: method(pluginOff, guard.nothing),
  /** The plugins that this worker has loaded. */
  plugins: method(guard.nothing, guard.object({ plugins: guard.arrayOf(pluginReport) })),
  cacheStats: method(guard.nothing, workerCacheStats),
  /** A page of the responses in L0 of this worker. */
  l0Entries: method(l0Query, l0List),
  l0Entry: method(l0Lookup, l0Found),
  /** State of the upstreams of the configuration, as this worker knows it. */
  upstreams: method(guard.nothing, upstreamReport),
  /** Recorded flows of this worker. */
  flows: method(flowQuery, flowList),
  /**
   * Sends flows as they are recorded, until the call is aborted: each chunk is a batch of them, as JSON, and its body the number of those
   * that are missing before it because they came too fast.
   */
  followFlows: method(guard.nothing, guard.nothing),
  /** Stops accepting, finishes what is in flight, and answers with how many requests and connections were cut. */
  drain: method(guard.object({ timeoutMs: guard.number }), guard.object({ cut: guard.number })),
  /** Cuts everything at once: the second signal. */
  cut: method(guard.nothing, guard.nothing),
  ping: method(guard.nothing, guard.object({ connections: guard.number, inFlight: guard.number })),
  /** prom-client metrics of the process as JSON (`registry.getMetricsAsJSON()`). */
  metrics: method(guard.nothing, guard.object({ metrics: guard.anything })),
} as const

/** Methods of the master for a worker. */
export const masterMethods = {
  /** The worker serves this generation. Sent once after each commit, the first time when it listens. */
  ready: method(guard.object({ generation: guard.number, pid: guard.number }), guard.nothing),
  /** The worker asks for a successor, because its work leaves memory behind that nothing frees. Sent once. */
  wornOut: method(guard.object({ reason: guard.string }), guard.nothing),
  /** A render host went away; these sites had renders in flight on it. Helps to find the site that brings hosts down. */
  hostLost: method(guard.object({ host: guard.string, sites: guard.arrayOf(guard.string) }), guard.nothing),
  health: method(guard.nothing, healthReport),
  status: method(guard.nothing, statusReport),
  reload: method(guard.nothing, reloadReport),
  /** Validates a text as if it were the content of the config file. Changes nothing. */
  checkConfig: method(guard.object({ toml: guard.string }), configVerdict),
  /** The changes that a reload would make. Changes nothing. */
  previewReload: method(guard.nothing, reloadPreview),
  /** Values of the configuration in service, with their sources. */
  configValues: method(configValueQuery, configValuePage),
  /** All metrics of the instance in the text exposition format. */
  metrics: method(guard.nothing, guard.object({ text: guard.string })),
  /** Asks for the right to make the entry of a key. Answered when it is granted, or when another holder has ended. */
  lease: method(guard.object({ key: guard.string }), leaseReply),
  /** True if an entry whose key begins with one of these is being filled. */
  leaseHeld: method(guard.object({ prefixes: guard.arrayOf(guard.string) }), guard.object({ isHeld: guard.boolean })),
  leaseEnded: method(guard.object({ id: guard.number, outcome: leaseOutcome }), guard.nothing),
  /** Carries out a purge in the whole instance. */
  purge: method(guard.object({ order: purgeOrder }), purgeOutcome),
  /** Forgets compiled modules in every isolate and on disk. `evicted`: modules dropped from isolates and from disk. */
  purgeModules: method(modulePurge, guard.object({ evicted: guard.number })),
  /** Forgets the routes and modules of the site that has this app directory or root. */
  resetApp: method(guard.object({ root: guard.string }), appReset),
  /** The render threads of all hosts by site, as of their last sign of life. */
  pools: method(guard.nothing, guard.object({ pools: guard.arrayOf(isolatePool) })),
  /** The isolates of these sites, or of all. */
  isolates: method(guard.object({ sites: guard.optional(guard.arrayOf(guard.string)) }), isolateList),
  /** The compiled modules of each isolate of a site. */
  modules: method(guard.object({ site: guard.string }), guard.object({ isolates: guard.arrayOf(isolateModules) })),
  /** Writes the heap of an isolate of a site into a file of the state directory. `host`: where the isolate runs. */
  heapSnapshot: method(
    guard.object({ site: guard.string }),
    guard.object({ file: guard.string, bytes: guard.number, host: guard.string }),
  ),
  /** Gives a site fresh isolates in every host. */
  flushIsolates: method(guard.object({ site: guard.string }), guard.object({ isolates: guard.number })),
  /** Begins a rolling restart of all render workers, or joins the one in progress. */
  restartRenderers: method(guard.nothing, restartStatus),
  /** Begins to replace one process: `w1`... a worker, `h1`... a render host, as `status` lists them. Undefined: there is none. */
  restartProcess: method(guard.object({ id: guard.string }), guard.object({ status: guard.optional(restartStatus) })),
  /** The certificates in service, and the hosts that wait for one. */
  certificates: method(guard.nothing, certificateReports),
  /** Orders a new certificate for a host. */
  renewCertificate: method(guard.object({ host: guard.string }), renewal),
  /** State of the upstreams, summed over the workers. */
  upstreams: method(guard.nothing, upstreamSummary),
  /** Of a restart begun before; `wait`: answered at its end. Undefined: none of that id. */
  restartStatus: method(
    guard.object({ id: guard.string, wait: guard.boolean }),
    guard.object({ status: guard.optional(restartStatus) }),
  ),
  /** Figures of all layers, for display. */
  cacheStats: method(guard.nothing, cacheReport),
  /** A page of the responses in L0 of all workers that answer in time. */
  l0Entries: method(l0Query, l0Page),
  /** A response in L0 of any worker that answers in time. */
  l0Entry: method(l0Lookup, l0Found),
  /** Answered when every write to a site's files before this call has taken effect: for sites in development mode. */
  settleSite: method(guard.object({ site: guard.string }), guard.nothing),
  /** Checks a password and begins a session. Answered after a wait when many passwords were wrong. */
  login: method(loginRequest, issueReply),
  /** Begins a session in place of another, which ends. */
  refreshSession: method(refreshRequest, issueReply),
  /** Makes a token of a configured user for programs. */
  issueToken: method(tokenRequest, issueReply),
  /** Ends a session or token. Answered when no worker accepts it any more, and a restart does not forget that. */
  revokeSession: method(revokeRequest, guard.object({ isFound: guard.boolean })),
  /** Sessions and tokens that are accepted. */
  sessions: method(guard.nothing, guard.object({ sessions: guard.arrayOf(sessionRecord) })),
  /** Stores a record of the audit log; answered when it outlives this process. */
  audit: method(auditRecord, guard.nothing),
  auditLog: method(auditQuery, auditPage),
  /** Switches the maintenance of a site, over restarts and reloads. Answered when every worker follows. */
  setMaintenance: method(maintenanceOrder, guard.nothing),
  /** Answered when every worker follows. */
  setServerDown: method(serverOrder, guard.nothing),
  /** Serves a site from another root. Answered when every worker does. */
  deploy: method(deployOrder, release),
  /** Goes back to a release of a site. Answered when every worker has. */
  rollback: method(rollbackOrder, release),
  releases: method(guard.object({ sites: guard.arrayOf(guard.string) }), guard.object({ releases: guard.arrayOf(siteRelease) })),
  /** Reserves room for an archive that a client uploads. */
  beginUpload: method(uploadStart, uploadPlace),
  /** Puts an uploaded archive where releases come from. `file`: absolute path; undefined: it was aborted. */
  endUpload: method(uploadEnd, guard.object({ file: guard.optional(guard.string) })),
  /** Takes slices of the budgets of clients, in the order of the request. Answered when Redis has, where instances share them. */
  takeSlices: method(sliceOrders, slices),
  returnSlices: method(unusedSlices, guard.nothing),
  /** Clients near their budget, or over it. */
  countedClients: method(guard.nothing, countedClients),
  /** Gives a client its whole budget back. Answered when every worker knows. */
  unblockClient: method(guard.object({ client: guard.string }), guard.object({ isFound: guard.boolean })),
  /** Decides on requests by `limit_req`, in the order of the request. */
  limitRequests: method(requestLimitOrders, requestLimitReplies),
  /** Counts requests in progress by `limit_conn`, in the order of the request. */
  beginConnections: method(connectionOrders, connectionReplies),
  endConnections: method(endedConnections, guard.nothing),
  /** Counts a match of a rule of the firewall that acts only above a rate. */
  countWafMatch: method(rateOrder, rateReply),
  /** Matches of rules of the firewall. */
  wafMatched: method(wafBatch, guard.nothing),
  wafEvents: method(wafEventQuery, wafEventPage),
  /** Answered when every worker follows. */
  setWafMode: method(wafModeOrder, guard.nothing),
  setWafRule: method(wafRuleOrder, guard.nothing),
  removeWafRule: method(wafRemoval, guard.nothing),
  tasks: method(guard.nothing, guard.object({ tasks: guard.arrayOf(taskStatus) })),
  /** The last runs of a task, the newest first. */
  taskRuns: method(guard.object({ name: guard.string }), guard.object({ runs: guard.arrayOf(taskRun) })),
  /** Begins a run of a task. */
  runTask: method(guard.object({ name: guard.string }), taskRun),
  /** Answered when the schedule follows, over restarts and reloads. */
  setTaskEnabled: method(taskOrder, guard.nothing),
  /** A plugin has failed too often in a row in this worker: all are to skip it. */
  pluginFailed: method(pluginOff, guard.nothing),
  plugins: method(guard.nothing, guard.object({ plugins: guard.arrayOf(pluginStatus) })),
  /** Answered when every worker follows, over restarts and reloads. */
  setPluginEnabled: method(pluginOrder, guard.nothing),
  /** Values that were set at run time. */
  overrides: method(guard.nothing, guard.object({ overrides: guard.arrayOf(override) })),
  /** Recorded flows of all workers. */
  flows: method(flowQuery, flowPage),
  /** Sends each flow of any worker as a chunk from now on, as `followLogs` sends lines. */
  followFlows: method(flowFilter, guard.nothing),
  /** The alerts, as of their last evaluation. */
  alerts: method(guard.nothing, alertReport),
  /** Answered when a restart does not forget it. */
  silenceAlert: method(silenceOrder, silence),
  silences: method(guard.nothing, guard.object({ silences: guard.arrayOf(silence) })),
  endSilence: method(guard.object({ id: guard.string }), guard.object({ isFound: guard.boolean })),
  /** The service level objectives. */
  slos: method(guard.nothing, sloReport),
  /** Traffic that the worker has counted since its last report. */
  traffic: method(trafficBatch, guard.nothing),
  /** The traffic of sites in a window of time. */
  analytics: method(trafficQuery, analyticsReport),
  /** The state of the instance, or of some sites, at a glance. */
  summary: method(summaryQuery, summaryReport),
  /** Lines of the worker's log. */
  log: method(logBatch, guard.nothing),
  /** The newest `limit` lines of the logs of all processes. `since`: in milliseconds since the epoch, inclusive. */
  logs: method(logQuery, logPage),
  /**
   * Sends each line as a chunk from now on, until the call is aborted. Lines that come faster than they are taken are dropped: the body
   * of a chunk without bytes is their number.
   */
  followLogs: method(guard.object({ filter: logFilter }), guard.nothing),
  /** A route table or site fact for an endpoint or the command line. */
  siteInfo: method(guard.object({ site: guard.string }), siteManifestInfo),
} as const
