import type { User } from '@svc/auth'
import type { Guarded } from '@svc/core'
import type { RequestBody } from '@svc/http'
import type {
  AnalyticsReport,
  AppReset,
  AuditPage,
  AuditQuery,
  AuditRecord,
  CacheReport,
  CertificateReport,
  CountedClients,
  DeployOrder,
  Flow,
  FlowFilter,
  FlowPage,
  FlowQuery,
  HealthReport,
  IsolateList,
  IsolateModules,
  IsolatePool,
  IssueReply,
  LogFilter,
  LoginRequest,
  LogPage,
  LogRange,
  ModulePurge,
  PurgeOutcome,
  purgeOrder,
  RefreshRequest,
  Release,
  Renewal,
  RestartStatus,
  RevokeRequest,
  RollbackOrder,
  ServerOrder,
  SessionRecord,
  SiteManifestInfo,
  SiteRelease,
  SiteStatus,
  SloStatus,
  SummaryQuery,
  SummaryReport,
  TokenRequest,
  TrafficQuery,
  UpstreamSummary,
} from '@svc/protocol'
import type { Alerts } from './alerts.ts'
import type { Instance } from './instance.ts'
import type { Plugins, Tasks } from './switched-parts.ts'
import type { Waf } from './waf.ts'

/** A purge as requested. Tags may be in their short forms; paths and hosts are as written. */
export type PurgeOrder = Guarded<typeof purgeOrder>

/** Maintenance of a site: every request gets 503. */
interface Maintenance {
  /** Plain text of the response; undefined: the usual one. */
  readonly message?: string | undefined
  readonly retry_after_secs: number
}

/** A site as an endpoint needs it. */
export interface SiteSummary {
  readonly id: string
  /** Undefined: no tenant owns it. */
  readonly tenant: string | undefined
  readonly label: string
  readonly hostnames: readonly string[]
  /** True if hosts that no site claims come here. */
  readonly anyHost: boolean
  readonly root: string
  readonly mode: string
  /** True if there is an application: something that has routes. */
  readonly hasApp: boolean
}

/** A server of a vhost file as an endpoint lists it. */
export interface VhostSummary {
  /** Id of its site. */
  readonly site: string
  /** "file:line". */
  readonly place: string
  readonly listen: readonly string[]
  /** Addresses for which it is declared the default. */
  readonly default_for: readonly string[]
  readonly names: readonly string[]
  /** In file order; the last is what holds where none matches. */
  readonly locations: ReadonlyArray<{
    readonly match: string
    readonly place: string
    readonly content: string
    /** Upstream or site. */
    readonly target: string
  }>
}

/** Purges of the whole instance. All reject if the master is unreachable, or with its error. */
export interface Purges {
  /** Resolves when no process of the instance serves entries that the order matches. @throws SUP_BAD_PURGE */
  purge(order: PurgeOrder): Promise<PurgeOutcome>
  /** Forgets compiled modules; resolves with how many there were. */
  purgeModules(purge: ModulePurge): Promise<number>
  /** Forgets modules, routes and pages of the site with this root or app directory. */
  resetApp(root: string): Promise<AppReset>
  /** Figures of all layers. */
  stats(): Promise<CacheReport>
}

/** The processes and isolates that render. All reject if the master is unreachable, or with its error. */
export interface Renderers {
  /** Gives a site fresh isolates; resolves with how many were replaced. @throws SUP_UNKNOWN_SITE */
  flush(site: string): Promise<number>
  /** Begins a rolling restart, or joins the one in progress. */
  restart(): Promise<RestartStatus>
  /** `wait`: resolves at its end. Undefined: there was none of that id. */
  restartStatus(id: string, wait: boolean): Promise<RestartStatus | undefined>
  /** The render threads of each host by site. */
  pools(): Promise<readonly IsolatePool[]>
  /** The isolates of sites, or of all, in the hosts that answer in time. @throws SUP_UNKNOWN_SITE */
  isolates(sites?: readonly string[]): Promise<IsolateList>
  /** The compiled modules of each isolate of a site. @throws SUP_UNKNOWN_SITE */
  modules(site: string): Promise<readonly IsolateModules[]>
  /** Writes the heap of an isolate of a site into a file of the state directory. @throws SUP_UNKNOWN_SITE, SUP_SNAPSHOT, RENDER_SNAPSHOT */
  heapSnapshot(site: string): Promise<{ readonly file: string; readonly bytes: number; readonly host: string }>
}

/** The sites as this process serves them. */
export interface Sites {
  generation(): number
  list(): readonly SiteSummary[]
  /** Servers of vhost files, in their order. */
  vhosts(): readonly VhostSummary[]
  /** The id of the site that claims a host (which may have a port); undefined: none does. */
  ofHost(host: string): string | undefined
  /** The host names of the site that claims a host (which may have a port), with that one; undefined: no site claims it. */
  hostsBeside(host: string): readonly string[] | undefined
  /** The states of all sites by id. Rejects if the master is unreachable. */
  states(): Promise<ReadonlyMap<string, Pick<SiteStatus, 'process' | 'state'>>>
  /**
   * Switches the maintenance of a site; resolves when every worker follows. Null: it serves.
   * @throws SUP_UNKNOWN_SITE, SUP_OVERRIDE
   */
  setMaintenance(site: string, maintenance: Maintenance | null, username: string): Promise<void>
  /** @throws SUP_UNKNOWN_SITE */
  routes(site: string): Promise<SiteManifestInfo>
}

/** The record of operations. All reject if the master is unreachable. */
interface Audit {
  /** Resolves when the record outlives the processes of the instance. */
  add(record: AuditRecord): Promise<void>
  /** A page, newest first. */
  page(query: AuditQuery): Promise<AuditPage>
}

/** The processes of the instance, and what they connect to. All reject if the master is unreachable, or with its error. */
export interface Fleet {
  /** Begins to replace a process (`w1`..., `h1`...) by a successor. Undefined: there is none of that name. */
  restart(id: string): Promise<RestartStatus | undefined>
  /** State of the upstreams, summed over the workers that report in time. */
  upstreams(): Promise<UpstreamSummary>
  /**
   * Takes a server of an upstream group out of service, or back into it; resolves when every worker follows.
   * @throws UNKNOWN_UPSTREAM, SUP_OVERRIDE
   */
  setServerDown(order: ServerOrder): Promise<void>
  /** The clients that are near their budget, or over it. */
  countedClients(): Promise<CountedClients>
  /** Gives a client its whole budget back; resolves when every worker knows. False: none of its requests were counted. */
  unblock(client: string): Promise<boolean>
  /** The certificates in service, and the hosts that wait for one. */
  certificates(): Promise<readonly CertificateReport[]>
  /** Orders a new certificate for a host. */
  renew(host: string): Promise<Renewal['outcome']>
}

/** A rendered page of a site. */
interface Page {
  /** Id of the site. */
  readonly site: string
  readonly path: string
  /** Without "?". */
  readonly query: string
  /** Scheme and host that it is for; undefined: it depends on no host. */
  readonly origin?: string | undefined
}

/** Selects stored pages: by tag or path, or else all. */
interface PageSelection {
  /** Labels of the sites; undefined: of all. */
  readonly labels: readonly string[] | undefined
  /** Tags, which may be in their short forms. */
  readonly tags?: readonly string[] | undefined
  readonly paths?: readonly string[] | undefined
}

/** The stored pages of sites. */
export interface Pages {
  /** Finds stored pages, a bounded number of them. */
  stored(selection: PageSelection): Promise<readonly Page[]>
  /** Queues pages to be rendered into the store, unless they are there and fresh. Returns how many there was room for. */
  render(pages: readonly Page[]): number
}

/** Entries of a store, and the bytes that they take. */
interface StoreShare {
  readonly entries: number
  readonly bytes: number
}

/** A store that all processes share. */
export type StoreLayer = 'isr' | 'proxy'
/** A cache of responses: a store, or the memory of the workers. */
export type EntryLayer = StoreLayer | 'l0'

/** Selects entries of a cache. */
export interface EntryQuery {
  readonly layer: EntryLayer
  /** Labels of the sites; undefined: of all, and of none. */
  readonly labels: readonly string[] | undefined
  /** May be in its short forms. */
  readonly tag?: string | undefined
  /** Prefix of the path. */
  readonly prefix?: string | undefined
  readonly limit: number
  /** The cursor of the page before. */
  readonly cursor?: string | undefined
}

/** A stored response without its body. Times are RFC 3339. */
export interface StoredResponse {
  readonly layer: EntryLayer
  /** Key in the cache. */
  readonly key: string
  readonly label: string
  /** Null: it depends on no host. */
  readonly host: string | null
  readonly path: string
  /** Without "?"; null: it depends on no query, or that is unknown. */
  readonly query: string | null
  /** URI; undefined but in the store of upstream responses. */
  readonly uri: string | undefined
  readonly tags: readonly string[]
  readonly status: number
  /** With its facts. */
  readonly bytes: number
  readonly stored_at: string
  /** Null: for ever. */
  readonly fresh_until: string | null
  readonly stale_until: string | null
  /** Responses that it gave since it was stored, as far as they are counted. */
  readonly hits: number
}

interface EntryPage {
  readonly entries: readonly StoredResponse[]
  readonly cursor: string | null
  /** Workers whose entries are missing because they did not answer in time. */
  readonly missing: readonly string[]
}

/** The entries of the caches. Those of L0 are asked of all workers: rejects then if the master is unreachable. */
export interface Entries {
  /** The share of labels in each store. */
  usage(labels: readonly string[]): { readonly isr: StoreShare; readonly proxy: StoreShare }
  /**
   * A page of responses. Reads a bounded number of entries: a page may have fewer than `limit`, or none, and yet a cursor. Undefined:
   * no page of this listing has had the cursor.
   */
  list(query: EntryQuery): Promise<EntryPage | undefined>
  /** @param labels those of which it may be; undefined: all */
  find(layer: EntryLayer, key: string, labels?: readonly string[]): Promise<StoredResponse | undefined>
  /** The first `maxBytes` of a body; undefined: it is gone. */
  body(layer: EntryLayer, key: string, maxBytes: number): Promise<Uint8Array | undefined>
}

/** Sessions of users, and tokens for programs. All reject if the master is unreachable, or with its error. */
export interface Sessions {
  /** The users of the configuration. */
  users(): Promise<readonly User[]>
  /** Begins a session, after a wait when many passwords were wrong. @throws SUP_SESSIONS */
  login(request: LoginRequest): Promise<IssueReply>
  /** Begins a session in place of another, which ends. @throws SUP_SESSIONS */
  refresh(request: RefreshRequest): Promise<IssueReply>
  /** @throws SUP_SESSIONS */
  issueToken(request: TokenRequest): Promise<IssueReply>
  /** Sessions and tokens on record that are accepted, the latest first. */
  list(): Promise<readonly SessionRecord[]>
  /** Resolves when no worker accepts the token any more, and a restart does not forget that; false: it is unknown. @throws SUP_SESSIONS */
  revoke(request: RevokeRequest): Promise<boolean>
}

/** The user who uploads an archive, and its site. */
export interface UploadOrder {
  readonly site: string
  readonly username: string
}

/** An archive that was uploaded. */
export interface Upload {
  /** Absolute path: a source of releases. */
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** The releases of sites. All reject if the master is unreachable, or with its error. */
export interface Releases {
  /** The last ones of sites, the latest first. @throws SUP_UNKNOWN_SITE */
  list(sites: readonly string[]): Promise<readonly SiteRelease[]>
  /** Resolves when every worker serves the release. @throws DEPLOY_FAILED with `errors` in its data, and the other codes of releases */
  deploy(order: DeployOrder): Promise<Release>
  /** Resolves when every worker serves the release. @throws UNKNOWN_RELEASE, and what `deploy` throws */
  rollback(order: RollbackOrder): Promise<Release>
  /** Stores a .tar.gz. Resolves when the file outlives the machine losing power. @throws the codes of uploads, and the error of the body */
  upload(order: UploadOrder, content: RequestBody): Promise<Upload>
}

/** The log lines of all processes. */
export interface Logs {
  /** The newest lines of a range, as many as have room. Rejects if the master is unreachable. */
  page(filter: LogFilter, range: LogRange): Promise<LogPage>
  /** Passes on lines as they are written, until the returned function is called. */
  follow(filter: LogFilter, follower: Follower<string>): () => void
}

/** The recorded requests of all workers. */
export interface Flows {
  /** Those of the workers that answer in time, the newest first. Rejects if the master is unreachable. */
  page(query: FlowQuery): Promise<FlowPage>
  /** Passes on requests as they are recorded, until the returned function is called. */
  follow(filter: FlowFilter, follower: Follower<Flow>): () => void
}

/** A reader of log lines or flows. */
export interface Follower<Item> {
  next(item: Item): void
  /** So many items are missing here: they came too fast. */
  dropped(count: number): void
  /** The last call: the master is gone. */
  ended(): void
}

/** The operations that endpoints need from the instance. The worker implements it over its channel to the master; tests fake it. */
export interface ControlPlane {
  /** Health of the whole instance. Rejects if the master is unreachable. */
  health(): Promise<HealthReport>
  /** All metrics of the instance in the Prometheus text exposition format. Rejects if the master is unreachable. */
  metrics(): Promise<string>
  /** Returns true if this process is stopping. */
  isDraining(): boolean
  readonly purges: Purges
  readonly renderers: Renderers
  readonly sites: Sites
  readonly audit: Audit
  readonly logs: Logs
  readonly flows: Flows
  readonly alerts: Alerts
  /** The service level objectives. Rejects if the master is unreachable. */
  slos(): Promise<readonly SloStatus[]>
  /** The traffic of sites. Rejects if the master is unreachable. */
  analytics(query: TrafficQuery): Promise<AnalyticsReport>
  /** The state of the instance, or of some sites, at a glance. Rejects if the master is unreachable. */
  summary(query: SummaryQuery): Promise<SummaryReport>
  readonly sessions: Sessions
  readonly instance: Instance
  readonly fleet: Fleet
  readonly tasks: Tasks
  readonly waf: Waf
  readonly plugins: Plugins
  readonly releases: Releases
  readonly pages: Pages
  readonly entries: Entries
}
