import { AppError } from '@svc/core'
import type { AnalyticsReport, AuditRecord, CacheReport, Flow, PurgeOutcome, Release, ReloadReport } from '@svc/protocol'
import type { ControlPlane, Follower, PurgeOrder, SiteSummary, StoredResponse, VhostSummary } from '../src/index.ts'
import { alertsOf, slos } from './alert-samples.ts'
import { configOf } from './config-samples.ts'
import { pluginsOf } from './plugin-samples.ts'
import { tasksOf } from './task-samples.ts'
import { wafOf } from './waf-samples.ts'

/** A server of a vhost file. */
export const vhost: VhostSummary = {
  site: 'shop',
  place: 'shop.conf:1',
  listen: ['0.0.0.0:80'],
  default_for: [],
  names: ['shop.test'],
  locations: [{ match: '/', place: 'shop.conf:3', content: 'files', target: '' }],
}

const site = (id: string, label = id, tenant?: string): SiteSummary => ({
  id,
  tenant,
  label,
  hostnames: [`${id}.test`, `www.${id}.test`],
  anyHost: false,
  root: `/srv/${id}`,
  mode: 'production',
  hasApp: true,
})

const life = { thread: 3, state: 'idle', started_at: '2026-01-01T00:00:00.000Z', last_build_ms: 12 } as const
/** An isolate of a site. */
export const isolate = { site: 'shop', label: 'shop', host: 'h1', ...life, heap_bytes: 1_000_000, requests: 5 }

/** A release of a site. */
const made = { created_at: '2026-01-01T00:00:00.000Z', source: '/srv/releases/r1' }
export const release: Release = { id: 'r1', ...made, state: 'ready', live: true }

export const flow: Flow = {
  request_id: 'id-7',
  at: '2026-01-01T00:00:00.000Z',
  site: 'shop',
  method: 'GET',
  path: '/a',
  status: 500,
  duration_ms: 3,
  reason: 'failed',
  stages: [{ name: 'router', start_ms: 0, duration_ms: 3, outcome: 'ok' }],
}

/** The state of the instance. */
const summary = {
  at: '2026-01-01T00:00:00.000Z',
  version: '1.0.0',
  generation: 3,
  uptime_secs: 60,
  traffic: {
    requests_per_sec: { last_minute: 1.5, last_10_secs: 2 },
    error_ratio: 0.01,
    p50_ms: 1,
    p95_ms: 20,
    p99_ms: null,
    hit_ratio: null,
  },
  sites: { total: 2, states: { ok: 2 } },
  instance: {
    workers: { total: 2, states: { ready: 2 } },
    hosts: { total: 1, states: { ready: 1 } },
    last_reload: { at: '2026-01-01T00:00:00.000Z', ok: true },
    disks: [{ path: '/var/cache/svc', free_ratio: 0.5 }],
    memory: { resident_bytes: 1, available_bytes: 2 },
    missing: [],
  },
}

const server = { weight: 1, is_backup: false, is_down: false, avoided_by: 0, in_flight: 0, failures: 0 }

/** The traffic of sites. */
export const traffic: AnalyticsReport = {
  step_secs: 60,
  buckets: [
    {
      at: '2026-01-01T00:00:00.000Z',
      requests: 3,
      status: { '1xx': 0, '2xx': 2, '3xx': 0, '4xx': 0, '5xx': 1 },
      bytes: 900,
      hits: { l0: 1, isr: 0, proxy: 0 },
      misses: 2,
      p50_ms: 1.5,
      p95_ms: 20,
      p99_ms: null,
    },
  ],
  top: { paths: [{ name: '/a', count: 3 }], referrers: [], clients: [{ name: '192.0.2.1', count: 3 }] },
}

export const outcome: PurgeOutcome = {
  number: 1,
  l0: 3,
  isr: 2,
  proxy: 0,
  workersAcked: 2,
  workersTotal: 2,
  instances: { acked: 1, known: 1 },
  tookMs: 1.234,
}

const share = (label: string) => ({ label, cache_weight: 1, entries: 1, bytes: 100, evictions: 0 })
const store = { entries: 2, bytes: 200, max_bytes: 1_000, sites: [share('shop'), share('blog')] }

/** Figures of the caches. */
export const cacheReport: CacheReport = {
  l0: { entries: 1, bytes: 100, max_bytes: 1_000, workers: 2 },
  isr: { ...store, max_entries: 10 },
  proxy: store,
  isolates: { hosts: 1, threads: 1 },
  leases: { held: 0, waiting: 0 },
  purges: { last: 1, unsettled: 0 },
}

/** A stored page. */
export const stored: StoredResponse = {
  layer: 'isr',
  key: 'shop\0/a\0\0',
  label: 'shop',
  host: null,
  path: '/a',
  query: null,
  uri: undefined,
  tags: ['route:shop:/a'],
  status: 200,
  bytes: 100,
  stored_at: '2026-01-01T00:00:00.000Z',
  fresh_until: null,
  stale_until: null,
  hits: 3,
}

/** A control plane that notes what it was asked for and answers the same each time. */
export class FakePlane implements ControlPlane {
  body = Buffer.from('<p>é</p>')
  readonly orders: PurgeOrder[] = []
  readonly calls: unknown[] = []
  readonly records: AuditRecord[] = []
  health: ControlPlane['health'] = async () => ({ status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } })
  metrics: ControlPlane['metrics'] = async () => 'all_metrics 1\n'
  isDraining: ControlPlane['isDraining'] = () => false

  readonly purges: ControlPlane['purges'] = {
    purge: async (order) => {
      this.orders.push(order)
      return outcome
    },
    purgeModules: async (purge) => {
      this.calls.push(purge)
      return 4
    },
    resetApp: async (root) =>
      root === '/srv/shop/app'
        ? { sites: ['shop'], roots: [], evicted: 5, l0: 1, isr: 2 }
        : { sites: [], roots: ['/srv/shop', '/srv/blog'], evicted: 0, l0: 0, isr: 0 },
    stats: async () => cacheReport,
  }

  readonly audit: ControlPlane['audit'] = {
    add: async (record) => void this.records.push(record),
    page: async (query) => {
      this.calls.push({ audit: query })
      return { entries: [], cursor: query.before === undefined ? query.limit : null }
    },
  }

  readonly flows: { -readonly [Key in keyof ControlPlane['flows']]: ControlPlane['flows'][Key] } = {
    page: async (query) => {
      this.calls.push({ flows: query })
      const isShown = (query.sites?.includes('shop') ?? true) && (query.request_id ?? 'id-7') === 'id-7'
      return { flows: isShown ? [flow] : [], answered: 1, total: 2 }
    },
    follow: (filter) => {
      this.calls.push({ followFlows: filter })
      return () => undefined
    },
  }

  readonly waf = wafOf(this.calls)

  slos: ControlPlane['slos'] = async () => slos

  readonly alerts = alertsOf(this.calls)

  readonly logs: { -readonly [Key in keyof ControlPlane['logs']]: ControlPlane['logs'][Key] } = {
    page: async (filter, range) => {
      this.calls.push({ logs: filter, ...range })
      return { lines: ['{"level":"info","msg":"hello"}', 'no json'], dropped: 3, next: { at: 7, number: 2 } }
    },
    follow: (filter, follower) => {
      this.calls.push({ follow: filter })
      this.followers.push(follower)
      return () => void this.followers.splice(this.followers.indexOf(follower), 1)
    },
  }
  readonly followers: Follower<string>[] = []

  analytics: ControlPlane['analytics'] = async (query) => {
    this.calls.push({ analytics: query })
    return traffic
  }

  summary: ControlPlane['summary'] = async (query) => {
    this.calls.push({ summary: query })
    const { instance, ...rest } = summary
    return query.sites === undefined ? { ...rest, instance } : rest
  }

  readonly sessions: ControlPlane['sessions'] = {
    users: async () => [{ username: 'root', role: 'super_admin' }],
    login: async () => ({ refused: 'credentials' }),
    refresh: async () => ({ refused: 'not_a_session' }),
    issueToken: async () => ({ refused: 'unknown_user' }),
    list: async () => [],
    revoke: async () => false,
  }

  readonly renderers: { -readonly [Key in keyof ControlPlane['renderers']]: ControlPlane['renderers'][Key] } = {
    flush: async (id) => {
      this.calls.push({ flush: id })
      return 2
    },
    restart: async () => ({ id: 'r1', state: 'running', replaced: 0, total: 2 }),
    restartStatus: async (id, wait) => {
      if (id === 'bad') return { id, state: 'failed', replaced: 1, total: 2, error: 'no memory' }
      return id === 'r1' ? { id, state: wait ? 'done' : 'running', replaced: wait ? 2 : 1, total: 2 } : undefined
    },
    modules: async (site) => [
      { host: 'h1', pid: 1, modules: [{ file: `/srv/${site}/app/page.tsx`, format: 'esm', imports: ['/srv/state.ts'] }] },
    ],
    heapSnapshot: async (site) => {
      this.calls.push({ heapSnapshot: site })
      return { file: '/srv/state/heap-snapshots/x.heapsnapshot', bytes: 7, host: 'host-1' }
    },
    pools: async () => [{ host: 'h1', pid: 1, site: 'shop', threads: 1, active: 0, queued: 0 }],
    isolates: async (sites = ['shop', 'blog']) => ({ isolates: sites.map((site) => ({ ...isolate, site })), missing: ['h2'] }),
  }

  readonly sites: { -readonly [Key in keyof ControlPlane['sites']]: ControlPlane['sites'][Key] } = {
    generation: () => 7,
    list: () => [site('shop', 'shop', 'acme'), site('blog'), site('blog-old', 'blog')],
    vhosts: () => [vhost],
    ofHost: (host) => /^(?:www\.)?(shop|blog)\.test(?::\d+)?$/.exec(host)?.[1],
    hostsBeside: (host) => (host.startsWith('shop.test') ? ['shop.test', 'www.shop.test'] : undefined),
    states: async () => new Map([['shop', { process: 'shared', state: 'ok' }]]),
    setMaintenance: async (id, maintenance, username) => void this.calls.push({ id, maintenance, username }),
    routes: async (id) => {
      if (id === 'blog') throw new Error('unreadable')
      return { routes: [{ pattern: '/', kind: 'page', file: `/srv/${id}/app/page.tsx` }], problems: [] }
    },
  }

  readonly instance: ControlPlane['instance'] = {
    status: async () => ({
      pid: 1,
      version: '1.2.3',
      generation: 7,
      uptime_secs: 60,
      listen: ['http://127.0.0.1:80'],
      workers: [{ id: 1, pid: 2, state: 'ready', generation: 7, connections: 3 }],
      hosts: [{ id: 'host-1', pid: 3, state: 'ready', sites: ['shop'] }],
      sites: [],
      last_reload: null,
    }),
    reload: async () => this.reloadReport,
    overrides: async () => [{ key: 'sites.shop.maintenance', value: true, at: '2026-01-01T00:00:00.000Z', username: 'root' }],
    config: async () => ({ server: { workers: 2 }, admin: { jwt_secret: '***' } }),
    ...configOf(this.calls),
    check: async (toml) => {
      this.calls.push({ check: toml })
      const problems = toml === 'bad' ? [{ path: 'server.listen', message: 'line 1, column 2: is no address' }] : []
      return { sites: 2, notices: ['mind this'], problems }
    },
  }
  reloadReport: ReloadReport = {
    ok: true,
    generation: 8,
    changed: { added: 1, removed: 0, changed: 0 },
    needs_restart: ['server.workers'],
    errors: [],
    took_ms: 5,
  }

  readonly tasks = tasksOf(this.calls)
  readonly plugins = pluginsOf(this.calls)

  readonly fleet: ControlPlane['fleet'] = {
    restart: async (id) => (id === 'w1' ? { id: 'r2', state: 'running', replaced: 0, total: 1 } : undefined),
    upstreams: async () => ({
      groups: [
        {
          name: 'backend',
          balance: 'round_robin',
          servers: [
            { ...server, id: 'a:80', address: 'a:80', in_flight: 2 },
            { ...server, id: 'b:80', address: 'b:80', avoided_by: 1, failures: 3 },
            { ...server, id: 'c:80', address: 'c:80', is_backup: true, is_down: true },
          ],
        },
      ],
      is_cut: false,
      answered: 1,
      total: 2,
    }),
    countedClients: async () => ({
      enabled: true,
      budget: 600,
      window_secs: 60,
      distributed: false,
      counted: 2,
      clients: [{ client: '192.0.2.1', requests: 613, refused: 4, retry_after_secs: 12 }],
    }),
    unblock: async (client) => {
      this.calls.push({ unblock: client })
      return client === '192.0.2.1'
    },
    setServerDown: async (order) => void this.calls.push({ serverDown: order }),
    certificates: async () => [
      {
        names: ['a.test'],
        source: 'file',
        state: 'valid',
        issuer: 'CN=Test',
        not_before: '2026-01-01T00:00:00.000Z',
        not_after: '2027-01-01T00:00:00.000Z',
        file: '/etc/a.pem',
        reason: null,
      },
    ],
    renew: async (host) => (host === 'auto.test' ? 'ordered' : host === 'file.test' ? 'file' : 'unknown'),
  }

  readonly releases: ControlPlane['releases'] = {
    list: async (sites) => sites.map((site) => ({ site, release })),
    deploy: async (order) => {
      this.calls.push({ deploy: order })
      if (order.source === '/bad') {
        const data = { errors: ['app/page.tsx:1:2: no', 'app/layout.tsx: none'] }
        throw new AppError('DEPLOY_FAILED', '2 errors', { status: 422, exposable: true }, { data })
      }
      return release
    },
    rollback: async (order) => {
      this.calls.push({ rollback: order })
      return release
    },
    upload: async (order, content) => {
      let bytes = 0
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      content.read(
        (chunk, ack) => {
          bytes += chunk.byteLength
          ack()
        },
        (error) => (error === undefined ? resolve() : reject(error)),
      )
      await promise
      this.calls.push({ upload: order, bytes })
      return { file: `/incoming/${order.site}.tar.gz`, bytes, sha256: 'ab' }
    },
  }

  readonly pages: ControlPlane['pages'] = {
    stored: async (selection) => {
      this.calls.push({ stored: selection })
      return [{ site: 'shop', path: '/', query: '' }]
    },
    render: (pages) => {
      this.calls.push({ render: pages })
      return pages.length
    },
  }

  readonly entries: ControlPlane['entries'] = {
    list: async (query) => {
      this.calls.push({ list: query })
      if (query.cursor === 'made-up') return undefined
      const isFirst = query.cursor === undefined
      const isShown = isFirst && query.labels?.includes(stored.label) !== false
      return { entries: isShown ? [stored] : [], cursor: '0.abc', missing: [] }
    },
    find: async (layer, key, labels) =>
      layer === stored.layer && key === stored.key && labels?.includes(stored.label) !== false ? stored : undefined,
    body: async (_layer, _key, maxBytes) => Uint8Array.from(this.body.subarray(0, maxBytes)),
    usage: (labels) => ({ isr: { entries: labels.join().length, bytes: 10 }, proxy: { entries: 0, bytes: 0 } }),
  }
}
