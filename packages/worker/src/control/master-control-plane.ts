import type {
  ControlPlane,
  Entries,
  Fleet,
  Flows,
  Follower,
  Instance,
  Logs,
  Pages,
  Purges,
  Renderers,
  Sessions,
  Sites,
  VhostSummary,
} from '@svc/admin'
import type { EntryStore, ProxyStore } from '@svc/cache'
import { hasApp, redact } from '@svc/config'
import { type CallOptions, coalesce, type RpcCall, type RpcPeer } from '@svc/core'
import { parseHost } from '@svc/http'
import { type L0ListQuery, type masterMethods, sessionLimits, type workerMethods } from '@svc/protocol'
import { type ContentSpec, locationsOf, type ServerNameSpec, type WebSpec } from '@svc/vhosts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SitePage } from '../isr/page-queue.ts'
import { storedPages } from '../isr/stored-pages.ts'
import { locationText, utf8 } from '../vhost/location-text.ts'
import type { Firewall } from '../waf/firewall.ts'
import { uploadArchive } from './archive-upload.ts'
import { withSealedCursors } from './sealed-cursors.ts'
import { storedEntries } from './stored-entries.ts'
import { wafOf } from './waf-control.ts'

/** The line to the master. */
export type MasterPeer = RpcPeer<typeof workerMethods, typeof masterMethods>

/** Dependencies of a control plane. */
interface ControlPlaneParts {
  readonly master: Pick<MasterPeer, 'call' | 'open'>
  readonly generation: () => ServingGeneration
  readonly isDraining: () => boolean
  /** Undefined: it is not in use. */
  readonly firewall: () => Firewall | undefined
  /** The store of pages; undefined: pages are not cached. */
  readonly isrStore: () => EntryStore | undefined
  readonly proxyStore: () => ProxyStore | undefined
  /** Queues pages to be rendered into the store. Returns how many. */
  readonly renderPages: (pages: readonly SitePage[]) => number
}

const ANSWER = { timeoutMs: 5_000 } as const
/** A purge waits for processes that have to be killed, a flush for isolates that compile, a check for others. */
const WORK = { timeoutMs: 90_000 } as const
/** A login may queue for ten seconds. */
const LOGIN = { timeoutMs: 30_000 } as const
/** A rolling restart, a reload or a deployment may take minutes. */
const WAIT = { timeoutMs: 600_000 } as const

function purgesOf({ master }: ControlPlaneParts): Purges {
  return {
    purge: (order) => master.call('purge', { order }, WORK),
    purgeModules: async (purge) => (await master.call('purgeModules', purge, WORK)).evicted,
    resetApp: (root) => master.call('resetApp', { root }, WORK),
    stats: () => master.call('cacheStats', undefined, ANSWER),
  }
}

function renderersOf({ master }: ControlPlaneParts): Renderers {
  return {
    flush: async (site) => (await master.call('flushIsolates', { site }, WORK)).isolates,
    restart: () => master.call('restartRenderers', undefined, ANSWER),
    restartStatus: async (id, wait) => (await master.call('restartStatus', { id, wait }, wait ? WAIT : ANSWER)).status,
    modules: async (site) => (await master.call('modules', { site }, WORK)).isolates,
    heapSnapshot: (site) => master.call('heapSnapshot', { site }, WORK),
    pools: async () => (await master.call('pools', undefined, ANSWER)).pools,
    isolates: (sites) => master.call('isolates', { sites: sites?.slice() }, ANSWER),
  }
}

function sitesOf({ master, generation }: ControlPlaneParts): Sites {
  return {
    generation: () => generation().number,
    list: () =>
      generation().spec.sites.map((site) => {
        const { id, tenant, label, hostnames, any_host: anyHost, root, mode } = site
        return { id, tenant, label, hostnames, anyHost, root, mode, hasApp: hasApp(site) }
      }),
    vhosts: () => vhostSummaries(generation().spec.web),
    ofHost: (host) => {
      const match = generation().matchHost(host)
      return match === undefined || match.kind === 'default' ? undefined : match.value.config.id
    },
    states: async () => new Map((await master.call('status', undefined, ANSWER)).sites.map((site) => [site.id, site])),
    hostsBeside: (host) => hostsBeside(generation(), host),
    setMaintenance: (site, maintenance, username) => master.call('setMaintenance', { site, maintenance, username }, WORK),
    routes: (site) => master.call('siteInfo', { site }, ANSWER),
  }
}

function instanceOf({ master, generation }: ControlPlaneParts): Instance {
  return {
    status: () => master.call('status', undefined, ANSWER),
    reload: () => master.call('reload', undefined, WAIT),
    config: async () => redact(generation().config),
    values: (query) => master.call('configValues', query, ANSWER),
    preview: () => master.call('previewReload', undefined, WORK),
    overrides: async () => (await master.call('overrides', undefined, ANSWER)).overrides,
    check: (toml) => master.call('checkConfig', { toml }, WORK),
  }
}

/** A longer user agent is cut, not refused. */
function withShortAgent<Request extends { readonly userAgent: string }>(request: Request): Request {
  return { ...request, userAgent: request.userAgent.slice(0, sessionLimits.userAgent) }
}

function sessionsOf({ master, generation }: ControlPlaneParts): Sessions {
  return {
    users: async () =>
      generation().config.admin.users.map(({ username, role, tenant_id: tenantId }) => ({ username, role, tenantId })),
    login: (request) => master.call('login', withShortAgent(request), LOGIN),
    refresh: (request) => master.call('refreshSession', withShortAgent(request), WORK),
    issueToken: (request) => master.call('issueToken', withShortAgent(request), WORK),
    list: async () => (await master.call('sessions', undefined, ANSWER)).sessions,
    revoke: async (request) => (await master.call('revokeSession', request, WORK)).isFound,
  }
}

function logsOf({ master }: ControlPlaneParts): Logs {
  return {
    page: (filter, range) => master.call('logs', { filter, ...range }, ANSWER),
    follow: (filter, follower) => following(follower, String, (options) => master.open('followLogs', { filter }, options)),
  }
}

function flowsOf({ master }: ControlPlaneParts): Flows {
  return {
    page: (query) => master.call('flows', query, ANSWER),
    follow: (filter, follower) =>
      following(
        follower,
        (text) => JSON.parse(text),
        (options) => master.open('followFlows', filter, options),
      ),
  }
}

/** Passes on the chunks of a call until the function that it returns is called. */
function following<Item>(
  follower: Follower<Item>,
  itemOf: (text: string) => Item,
  open: (options: CallOptions) => Pick<RpcCall<unknown>, 'reply' | 'abort'>,
): () => void {
  const onChunk = (body: unknown, bytes: Uint8Array | undefined) => {
    if (bytes === undefined) follower.dropped(Number(body))
    else follower.next(itemOf(Buffer.from(bytes).toString()))
    return true
  }
  const call = open({ timeoutMs: Number.POSITIVE_INFINITY, onChunk })
  const ended = () => follower.ended()
  call.reply.then(ended, ended)
  return () => call.abort()
}

function fleetOf({ master }: ControlPlaneParts): Fleet {
  return {
    restart: async (id) => (await master.call('restartProcess', { id }, ANSWER)).status,
    upstreams: () => master.call('upstreams', undefined, ANSWER),
    setServerDown: (order) => master.call('setServerDown', order, WORK),
    countedClients: () => master.call('countedClients', undefined, ANSWER),
    unblock: async (client) => (await master.call('unblockClient', { client }, ANSWER)).isFound,
    certificates: async () => (await master.call('certificates', undefined, ANSWER)).certificates,
    renew: async (host) => (await master.call('renewCertificate', { host }, ANSWER)).outcome,
  }
}

function pagesOf({ generation, isrStore, renderPages }: ControlPlaneParts): Pages {
  return {
    async stored({ labels, ...selection }) {
      const store = isrStore()
      if (store === undefined) return []
      const sites = new Map(
        generation()
          .spec.sites.toReversed()
          .map((site) => [site.label, site.id]),
      )
      const pages = await storedPages(store, { ...selection, labels: labels ?? [...sites.keys()] })
      return pages.flatMap(({ label, ...page }) => {
        const site = sites.get(label)
        return site === undefined ? [] : { site, ...page }
      })
    },
    render: renderPages,
  }
}

function entriesOf({ master, generation, isrStore, proxyStore }: ControlPlaneParts): Entries {
  const l0 = {
    list: (query: L0ListQuery) => master.call('l0Entries', query, ANSWER),
    async find(key: string, maxBytes: number) {
      const { body, bytes } = await master.open('l0Entry', { key, maxBytes }, ANSWER).reply
      return body.entry && { entry: body.entry, body: bytes ?? new Uint8Array(0) }
    },
  }
  const entries = storedEntries({ isr: isrStore, proxy: proxyStore, l0, labels: () => labelsOf(generation()) })
  return withSealedCursors(entries, () => generation().config.admin.jwt_secret)
}

function labelsOf({ spec }: ServingGeneration): string[] {
  return [...new Set(spec.sites.map(({ label }) => label))]
}

/** The control plane of a worker: calls that concern the whole instance go to the master. */
export function createControlPlane(parts: ControlPlaneParts): ControlPlane {
  const { master, isDraining } = parts
  return {
    // Open to all clients, and each takes work of all processes: those that come during one share the next.
    health: coalesce(() => master.call('health', undefined, ANSWER)),
    metrics: coalesce(async () => (await master.call('metrics', undefined, ANSWER)).text),
    isDraining,
    purges: purgesOf(parts),
    renderers: renderersOf(parts),
    sites: sitesOf(parts),
    sessions: sessionsOf(parts),
    audit: {
      add: (record) => master.call('audit', record, ANSWER),
      page: (query) => master.call('auditLog', query, ANSWER),
    },
    logs: logsOf(parts),
    flows: flowsOf(parts),
    alerts: {
      report: () => master.call('alerts', undefined, ANSWER),
      silences: async () => (await master.call('silences', undefined, ANSWER)).silences,
      silence: (order) => master.call('silenceAlert', order, ANSWER),
      endSilence: async (id) => (await master.call('endSilence', { id }, ANSWER)).isFound,
    },
    slos: async () => (await master.call('slos', undefined, ANSWER)).slos,
    analytics: (query) => master.call('analytics', query, ANSWER),
    summary: (query) => master.call('summary', query, ANSWER),
    instance: instanceOf(parts),
    fleet: fleetOf(parts),
    tasks: {
      list: async () => (await master.call('tasks', undefined, ANSWER)).tasks,
      runs: async (name) => (await master.call('taskRuns', { name }, ANSWER)).runs,
      run: (name) => master.call('runTask', { name }, ANSWER),
      setEnabled: (order) => master.call('setTaskEnabled', order, WORK),
    },
    waf: wafOf(parts),
    plugins: {
      list: async () => (await master.call('plugins', undefined, ANSWER)).plugins,
      setEnabled: (order) => master.call('setPluginEnabled', order, WORK),
    },
    releases: {
      list: async (sites) => (await master.call('releases', { sites: [...sites] }, ANSWER)).releases,
      deploy: (order) => master.call('deploy', order, WAIT),
      rollback: (order) => master.call('rollback', order, WAIT),
      upload: (order, content) => uploadArchive({ master, answer: WORK }, order, content),
    },
    pages: pagesOf(parts),
    entries: entriesOf(parts),
  }
}

/**
 * The host names under which the pages of a host may be kept: the exact names of the site that claims it, and this one. Undefined
 * when no site claims the host, but one gets it for want of another.
 */
export function hostsBeside(generation: Pick<ServingGeneration, 'matchHost'>, host: string): readonly string[] | undefined {
  const match = generation.matchHost(host)
  const parsed = parseHost(host)
  if (match === undefined || match.kind === 'default' || parsed === 'bad_host') return undefined
  const exact = match.value.config.hostnames.filter((name) => !name.includes('*'))
  return [...new Set([parsed.hostname, ...exact])]
}

/** The servers of vhost files as endpoints list them. */
export function vhostSummaries({ servers }: WebSpec): readonly VhostSummary[] {
  return servers.map((server) => ({
    site: server.site,
    place: server.place,
    listen: server.listen.map(({ address }) => address),
    default_for: server.listen.filter(({ isDefault }) => isDefault).map(({ address }) => address),
    names: server.names.map(nameOf),
    locations: [
      ...locationsOf(server).map((location) => ({
        ...contentOf(location.content),
        match: locationText(location.match),
        place: location.place,
      })),
      { ...contentOf(server.fallback.content), match: '', place: server.place },
    ],
  }))
}

function nameOf(spec: ServerNameSpec): string {
  return utf8(spec.kind === 'name' ? spec.name : `~${spec.pattern.source}`)
}

function contentOf(content: ContentSpec): { readonly content: string; readonly target: string } {
  switch (content.kind) {
    case 'files':
    case 'empty_gif':
    case 'stub_status':
      return { content: content.kind, target: '' }
    case 'app':
      return { content: 'app', target: content.site }
    case 'proxy':
    case 'fastcgi':
    case 'uwsgi':
    case 'scgi':
      return { content: content.kind, target: content.target.kind === 'fixed' ? content.target.upstream : 'computed' }
  }
}
