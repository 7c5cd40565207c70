import { readFileSync } from 'node:fs'
import type { Endpoint } from '../src/index.ts'
import { configValues, preview } from './config-samples.ts'
import { cacheReport, type FakePlane, flow, release, stored, traffic } from './fake-plane.ts'
import { wafEvent } from './waf-samples.ts'

/** A request that an endpoint carries out, with `FakePlane` behind it. */
export interface EndpointCase {
  /** Values of the `:name` segments. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
  /** The body of an upload. */
  readonly upload?: string
  /** @default 200 */
  readonly status?: number
  /** Fields of the response, or a part of its text. */
  readonly answer: Readonly<Record<string, unknown>> | string
  /**
   * The status for the admin of another tenant than acme, which owns the site shop.
   * @default the same as for others
   */
  readonly otherTenant?: 404
  /** Fields that make the right request name something of acme: 404 to the admin of another tenant. */
  readonly naming?: Pick<EndpointCase, 'query' | 'body'>
}

const issued = {
  token: 'a.b.c',
  jti: 'j1',
  issuedAt: 0,
  expiresAt: 3_600_000,
  user: { username: 'vera', role: 'viewer' },
} as const
const user = { username: 'vera', role: 'viewer', tenant_id: null }
const record = { ...issued, kind: 'session', username: 'vera', role: 'viewer', address: '192.0.2.1', userAgent: 'curl' } as const

/** Makes a plane carry out what it refuses otherwise. */
export function prepareForCases({ sessions, audit, logs, flows }: FakePlane): void {
  flows.follow = (filter, follower) => {
    if (filter.sites?.includes(flow.site) !== false) follower.next(flow)
    follower.ended()
    return () => undefined
  }
  logs.follow = (_filter, follower) => {
    follower.next('{"msg":"hello"}')
    follower.ended()
    return () => undefined
  }
  sessions.login = async () => ({ issued })
  sessions.refresh = async () => ({ issued })
  sessions.issueToken = async () => ({ issued })
  sessions.list = async () => {
    const { token: _, user: _user, ...session } = record
    return [session, { ...session, jti: 't1', kind: 'token' }]
  }
  sessions.revoke = async () => true
  audit.page = async ({ sinceMs = 0 }) =>
    Date.parse(auditRecord.at) >= sinceMs ? { entries: [auditRecord], cursor: 7 } : { entries: [], cursor: null }
}

const auditRecord = {
  at: '2026-01-01T00:00:00.000Z',
  username: 'root',
  address: '192.0.2.1',
  action: 'POST /__svc/api/reload',
  target: '{}',
  result: 'ok',
  detail: '',
  request_id: 'id-1',
} as const

const began = { ok: true, token: 'a.b.c', expires_at: '1970-01-01T01:00:00.000Z', user }
const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
const id = { id: 'shop' }
/** The key of the entry that the fake has. */
export const key = Buffer.from(`${stored.layer}:${stored.key}`).toString('base64url')
const ofShop = { host: 'shop.test' }
const listsShop = { ok: true, sites: [{ id: 'shop', label: 'shop', hostnames: ['shop.test', 'www.shop.test'], tenant: 'acme' }] }
const showsShop = { ok: true, id: 'shop', tenant: 'acme', state: 'ok', cache: { isr: { entries: 4, bytes: 10 } } }
const readsConfig = { ok: true, config: { admin: { jwt_secret: '***' } } }
const reloads = { ok: true, generation: 8, needs_restart: ['server.workers'] }
const purges = (layer: string, scope: object) => ({ ok: true, layer, scope })

const wafRule = { action: 'block', when: { path: '^/x' } }

const panelFiles = JSON.parse(readFileSync(new URL('../../../dist/panel/manifest.json', import.meta.url), 'utf8'))

/** By method and path. Endpoints below `/api/` have the cases of their twins below `/__svc/api/`. */
export const endpointCases: Readonly<Record<string, EndpointCase>> = {
  'GET /__svc/health': { answer: { status: 'healthy', checks: { render_pool: 'ok' } } },
  'GET /health': { answer: { status: 'ok' } },
  'GET /__svc/metrics': { answer: 'all_metrics 1' },
  'GET /metrics': { answer: 'all_metrics 1' },

  'POST /__svc/cache/purge-l0': { body: ofShop, answer: purges('l0', ofShop), otherTenant: 404 },
  'POST /__svc/cache/purge-proxy': { body: ofShop, answer: purges('proxy', ofShop), otherTenant: 404 },
  'POST /__svc/cache/purge-modules': { body: { paths: ['/srv/a.ts'] }, answer: { ...purges('modules', {}), purged: 4 } },
  'GET /__svc/cache/stats': { answer: { ok: true, ...cacheReport } },
  'POST /compat-cache/purge-app': { body: { app_root: '/srv/shop/app' }, answer: { ...purges('app', {}), purged: 5 } },

  'GET /__svc/debug/router': { answer: { ok: true, generation: 7 } },
  'POST /__svc/debug/heap-snapshot': { query: { site: 'shop' }, answer: { ok: true, bytes: 7, host: 'host-1' } },
  'GET /__svc/debug/modules': { query: { site: 'shop' }, answer: { ok: true, site: 'shop', isolates: [{ host: 'h1' }] } },
  'GET /__svc/debug/isolates': { answer: { ok: true, pools: [{ host: 'h1', site: 'shop' }] } },

  'POST /__svc/api/invalidate': { body: { site: 'shop' }, answer: purges('all', { site: 'shop' }) },
  'POST /__svc/api/revalidate': { body: { site: 'shop' }, answer: { ok: true, queued: 1 } },
  'POST /__svc/api/reload': { answer: reloads },
  'GET /__svc/api/config': { answer: readsConfig },
  'POST /__svc/api/config/validate': { body: { toml: '' }, answer: { ok: true, sites: 2, notices: ['mind this'] } },
  'GET /__svc/api/sites': { answer: listsShop },
  'GET /__svc/api/sites/:id': { params: id, answer: showsShop },
  'POST /__svc/api/sites/:id/isolate/flush': {
    params: id,
    answer: { ...purges('isolates', { site: 'shop' }), purged: 2 },
    otherTenant: 404,
  },
  'GET /__svc/api/status': { answer: { ok: true, version: '1.2.3', pools: [{ site: 'shop' }] } },
  'POST /__svc/api/deploy': { body: { site: 'shop', source: '/srv/releases/r1' }, answer: { ok: true, release } },
  'GET /__svc/api/deploy': { query: { site: 'shop' }, answer: { ok: true, releases: [{ ...release, site: 'shop' }] } },
  'POST /__svc/api/deploy/rollback': { body: { site: 'shop', release: release.id }, answer: { ok: true, release } },
  'GET /__svc/api/openapi.json': { answer: { openapi: '3.1.0' } },

  'GET /__svc/admin': { answer: panelFiles.script },
  'GET /__svc/admin/:page': { params: { page: 'sites' }, answer: panelFiles.script },
  'GET /__svc/admin/login': { answer: panelFiles.script },
  'GET /__svc/admin/assets/:file': { params: { file: panelFiles.style }, answer: 'font' },

  'POST /__svc/admin/api/login': { body: { username: 'vera', password: 'x' }, answer: began },
  'POST /__svc/admin/api/logout': { answer: { ok: true } },
  'GET /__svc/admin/api/session': { answer: { ok: true } },
  'POST /__svc/admin/api/session/refresh': { answer: began },
  'GET /__svc/admin/api/users': { answer: { ok: true, users: [{ username: 'root', role: 'super_admin', tenant_id: null }] } },
  'GET /__svc/admin/api/sessions': { answer: { ok: true, sessions: [{ jti: 'j1', kind: 'session', user_agent: 'curl' }] } },
  'DELETE /__svc/admin/api/sessions/:jti': { params: { jti: 'j1' }, answer: { ok: true } },
  'POST /__svc/admin/api/tokens': { body: { username: 'vera', ttl_secs: 60 }, answer: { ok: true, token: 'a.b.c', jti: 'j1' } },
  'DELETE /__svc/admin/api/tokens/:jti': { params: { jti: 't1' }, answer: { ok: true } },

  'POST /__svc/admin/api/cache/purge': { query: { tag: 'posts' }, answer: purges('isr', { tag: 'posts' }) },
  'POST /__svc/admin/api/cache/purge-l0': { body: ofShop, answer: purges('l0', ofShop), otherTenant: 404 },
  'POST /__svc/admin/api/cache/purge-proxy': { body: ofShop, answer: purges('proxy', ofShop), otherTenant: 404 },
  'POST /__svc/admin/api/cache/invalidate': {
    body: { site: 'shop', paths: ['/a'] },
    answer: purges('all', { site: 'shop' }),
    otherTenant: 404,
  },
  'GET /__svc/admin/api/cache/count': {
    query: { site: 'shop', path: '/a' },
    answer: { ok: true, isr: { entries: 1, bytes: 100, is_partial: true } },
    otherTenant: 404,
  },
  'GET /__svc/admin/api/cache/entries': {
    query: { layer: 'isr', limit: '1' },
    answer: { ok: true, cursor: '0.abc' },
    naming: { query: { site: 'shop' } },
  },
  'GET /__svc/admin/api/cache/entries/:key': { params: { key }, answer: { ok: true, key, site: 'shop' }, otherTenant: 404 },
  'DELETE /__svc/admin/api/cache/entries/:key': { params: { key }, answer: purges('isr', { key }), otherTenant: 404 },
  'POST /__svc/admin/api/cache/warm': {
    body: { site: 'shop', paths: ['/a'] },
    status: 202,
    answer: { ok: true, queued: 1 },
    otherTenant: 404,
  },
  'GET /__svc/admin/api/cache/stats': { answer: { ok: true, l0: cacheReport.l0 } },
  'POST /__svc/admin/api/isolate/flush': {
    query: { site_label: 'shop' },
    answer: purges('isolates', { site_label: 'shop', sites: ['shop'] }),
    otherTenant: 404,
  },
  'GET /__svc/admin/api/isolates': { answer: { ok: true } },
  'POST /__svc/admin/api/workers/restart': { status: 202, answer: { ok: true, restart_id: 'r1', render_workers: 2 } },
  'GET /__svc/admin/api/workers/restart/:id': { params: { id: 'r1' }, answer: { ok: true, restart_id: 'r1', state: 'running' } },
  'GET /__svc/admin/api/workers': { answer: { ok: true, workers: [{ id: 'w1' }, { id: 'h1' }] } },
  'POST /__svc/admin/api/workers/:n/restart': { params: { n: 'w1' }, status: 202, answer: { ok: true, restart_id: 'r2' } },
  'GET /__svc/admin/api/overview': { answer: { ok: true, generation: 7, status: 'healthy' } },
  'GET /__svc/admin/api/config': { answer: readsConfig },
  'GET /__svc/admin/api/alerts/silences': { answer: { ok: true } },
  'POST /__svc/admin/api/alerts/silences': {
    body: { name: 'site_unit_away', site: 'shop', until: inAnHour },
    answer: { ok: true, id: 'abc', site: 'shop', until: inAnHour, reason: '' },
    otherTenant: 404,
  },
  'DELETE /__svc/admin/api/alerts/silences/:id': { params: { id: 'abc' }, answer: { ok: true }, otherTenant: 404 },
  'GET /__svc/admin/api/config/values': {
    query: { q: 'Work', origin: 'file', limit: '1', cursor: '1' },
    answer: { ok: true, generation: 7, values: [configValues[1]], total: 3, cursor: 2 },
  },
  'GET /__svc/admin/api/config/diff': {
    answer: { ok: true, values: preview.values, sites: preview.sites, ending_overrides: preview.ending },
  },
  'POST /__svc/admin/api/reload': { answer: reloads },
  'GET /__svc/admin/api/health': { answer: { ok: true, status: 'healthy' } },
  'GET /__svc/admin/api/sites': { answer: { ok: true } },
  'GET /__svc/admin/api/sites/:id': { params: id, answer: showsShop, otherTenant: 404 },
  'GET /__svc/admin/api/sites/:id/routes': {
    params: id,
    answer: { ok: true, routes: [{ pattern: '/', kind: 'page' }], problems: [] },
    otherTenant: 404,
  },
  'POST /__svc/admin/api/sites/:id/flush': { params: id, answer: purges('isolates', { site: 'shop' }), otherTenant: 404 },
  'PUT /__svc/admin/api/sites/:id/maintenance': {
    params: id,
    body: { enabled: true, message: 'back soon', retry_after_secs: 60 },
    answer: { ok: true, site: 'shop', maintenance: true },
    otherTenant: 404,
  },
  'POST /__svc/admin/api/deploys': {
    body: { site: 'shop', source: '/srv/releases/r1' },
    answer: { ok: true, release },
    otherTenant: 404,
  },
  'GET /__svc/admin/api/deploys': {
    query: { site: 'shop' },
    answer: { ok: true, releases: [{ ...release, site: 'shop' }] },
    otherTenant: 404,
  },
  'POST /__svc/admin/api/deploys/rollback': { body: { site: 'shop' }, answer: { ok: true, release }, otherTenant: 404 },
  'PUT /__svc/admin/api/deploys/upload': {
    query: { site: 'shop' },
    upload: 'an archive',
    answer: { ok: true, file: '/incoming/shop.tar.gz', bytes: 10 },
    otherTenant: 404,
  },
  'GET /__svc/admin/api/vhosts': { answer: { ok: true } },
  'GET /__svc/admin/api/certs': { answer: { ok: true, certs: [{ names: ['a.test'], state: 'valid' }] } },
  'POST /__svc/admin/api/certs/renew': { query: { host: 'auto.test' }, status: 202, answer: { ok: true, host: 'auto.test' } },
  'GET /__svc/admin/api/upstreams': { answer: { ok: true, upstreams: [{ name: 'backend' }], is_partial: true } },
  'PUT /__svc/admin/api/upstreams/:name/:server': {
    params: { name: 'backend', server: 'a:80' },
    body: { down: true },
    answer: { ok: true, upstream: 'backend', server: 'a:80', down: true },
  },
  'GET /__svc/admin/api/audit': {
    query: { limit: '1', user: 'root', result: 'ok', since: '2026-01-01T00:00:00Z' },
    answer: { ok: true, entries: [auditRecord], cursor: 7 },
  },

  'GET /__svc/admin/api/flows': { answer: { ok: true, is_partial: true }, naming: { query: { site: 'shop' } } },
  'GET /__svc/admin/api/flows/stream': { answer: 'data: {"request_id":"id-7"', naming: { query: { site: 'shop' } } },
  'GET /__svc/admin/api/flows/:request_id': {
    params: { request_id: 'id-7' },
    answer: { ok: true, ...flow },
    otherTenant: 404,
  },

  'GET /__svc/admin/api/waf': { answer: { ok: true, mode: 'block', packs: { sqli: 'monitor' } } },
  'PUT /__svc/admin/api/waf/mode': { body: { mode: 'monitor' }, answer: { ok: true, mode: 'monitor' } },
  'GET /__svc/admin/api/waf/rules': { answer: { ok: true } },
  'POST /__svc/admin/api/waf/rules': {
    status: 201,
    body: { id: 'r1', site: 'shop', ...wafRule },
    answer: { ok: true, rule: { id: 'r1', action: 'block' } },
    otherTenant: 404,
  },
  'PUT /__svc/admin/api/waf/rules/:id': {
    params: { id: 'of-shop' },
    body: { site: 'shop', ...wafRule },
    answer: { ok: true, rule: { id: 'of-shop', action: 'block' } },
    otherTenant: 404,
  },
  'DELETE /__svc/admin/api/waf/rules/:id': { params: { id: 'of-shop' }, answer: { ok: true, id: 'of-shop' }, otherTenant: 404 },
  'POST /__svc/admin/api/waf/test': {
    body: { method: 'GET', path: '/' },
    answer: { ok: true, action: 'block', rule: 'everywhere' },
  },
  'GET /__svc/admin/api/waf/events': { answer: { ok: true, events: [wafEvent] }, naming: { query: { site: 'shop' } } },
  'GET /__svc/admin/api/rate-limit': {
    answer: { ok: true, budget: 600, clients: [{ client: '192.0.2.1', requests: 613 }] },
  },
  'DELETE /__svc/admin/api/rate-limit/:ip': { params: { ip: '192.0.2.1' }, answer: { ok: true, client: '192.0.2.1' } },
  'GET /__svc/admin/api/tasks': { answer: { ok: true, tasks: [{ name: 'nightly', last_run: { id: 'run-1' } }] } },
  'PUT /__svc/admin/api/tasks/:name': {
    params: { name: 'nightly' },
    body: { enabled: false },
    answer: { ok: true, name: 'nightly', enabled: false },
  },
  'POST /__svc/admin/api/tasks/:name/run': {
    params: { name: 'nightly' },
    status: 202,
    answer: { ok: true, run: { id: 'run-1', trigger: 'manual' } },
  },
  'GET /__svc/admin/api/tasks/:name/runs': { params: { name: 'nightly' }, answer: { ok: true, runs: [{ state: 'ok' }] } },
  'GET /__svc/admin/api/plugins': { answer: { ok: true, plugins: [{ name: 'auth', state: 'active', errors: 2 }] } },
  'PUT /__svc/admin/api/plugins/:name': {
    params: { name: 'auth' },
    body: { enabled: true },
    answer: { ok: true, name: 'auth', enabled: true },
  },

  'GET /__svc/obs/summary': { answer: { ok: true, generation: 3, sites: { total: 2, states: { ok: 2 } } } },
  'GET /__svc/obs/analytics': {
    answer: { ok: true, site: null, window: '1h', ...traffic },
    naming: { query: { site: 'shop' } },
  },
  'GET /__svc/obs/logs': { answer: { ok: true, lines: [{ msg: 'hello' }, {}], dropped: 3 }, naming: { query: { site: 'shop' } } },
  'GET /__svc/obs/logs/stream': { answer: 'data: {"msg":"hello"}', naming: { query: { site: 'shop' } } },
  'GET /__svc/obs/alerts': { answer: { ok: true } },
  'GET /__svc/obs/slos': { answer: { ok: true } },
  'GET /__svc/obs/changes': { query: { window: '24h' }, answer: { ok: true, changes: [], is_partial: false } },
  'GET /__svc/obs/dashboard': { answer: panelFiles.script },
  'GET /__svc/obs/cache': { answer: { ok: true, cursor: '0.abc' }, naming: { query: { site: 'shop' } } },
  'GET /__svc/obs/cache/entry': { query: { layer: 'isr', key }, answer: { ok: true, key, site: 'shop' }, otherTenant: 404 },
}

/** "METHOD /path", as the cases are named. */
export function nameOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path.replace(/^\/api\//, '/__svc/api/')}`
}

/** Fields by which a request names something that belongs to a tenant. */
const namesObject = /^(?:site|site_label|host|id|key)$/

/** Endpoints for tenants that name something in their request, or may. The case of each says what another tenant gets. */
export function namesTenantObject({ path, query, body }: Endpoint): boolean {
  const fields = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  return [...fields, ...Object.keys(query().shape), ...Object.keys(body().shape)].some((name) => namesObject.test(name))
}
