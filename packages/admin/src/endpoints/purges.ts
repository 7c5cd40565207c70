import type { PurgeOutcome } from '@svc/protocol'
import type { ControlPlane, PurgeOrder } from '../contract/control-plane.ts'
import {
  type Endpoint,
  type EndpointAnswer,
  type EndpointRequest,
  type EndpointResult,
  jsonAnswer,
} from '../contract/endpoint.ts'
import { type FieldSchema, type FieldValues, listOf, stringOf } from '../contract/fields.ts'

type Scopes = PurgeOrder['scopes']

/** Name of the dropped layer in the response of a purge or flush. */
type PurgedLayer = 'l0' | 'isr' | 'proxy' | 'modules' | 'isolates' | 'app'

/** The result of a purge, before it becomes a response. */
interface PurgeReport {
  readonly layer: PurgedLayer
  /** Of the layer itself; undefined: as the outcome says. */
  readonly purged?: number
  /** The parsed request. */
  readonly scope: Readonly<Record<string, unknown>>
  /** Result of a purge of cached responses; undefined: there was none. */
  readonly outcome?: Pick<PurgeOutcome, 'l0' | 'isr' | 'proxy' | 'workersAcked' | 'workersTotal'> | undefined
  readonly tookMs: number
}

/** The layers that hold responses; a shared store of several instances is `l2`. */
type ResponseLayer = 'l0' | 'isr' | 'l2' | 'proxy'

function isResponseLayer(layer: PurgedLayer): layer is PurgedLayer & ResponseLayer {
  return layer === 'l0' || layer === 'isr' || layer === 'proxy'
}

/** The answer of every purge and flush. `also` counts entries of other layers than the named one. */
function purgeAnswer(report: PurgeReport): EndpointAnswer {
  const { layer, scope, outcome, tookMs } = report
  const counts: Record<ResponseLayer, number> = {
    l0: outcome?.l0 ?? 0,
    isr: outcome?.isr ?? 0,
    l2: 0,
    proxy: outcome?.proxy ?? 0,
  }
  const own = isResponseLayer(layer) ? counts[layer] : 0
  return jsonAnswer(200, {
    ok: true,
    layer,
    purged: report.purged ?? own,
    also: isResponseLayer(layer) ? { ...counts, [layer]: 0 } : counts,
    scope,
    workers: { acked: outcome?.workersAcked ?? 0, total: outcome?.workersTotal ?? 0 },
    instances: { acked: 1, known: 1 },
    took_ms: Math.round(tookMs * 100) / 100,
  })
}

const host = { type: 'string', description: 'Host name, with or without port.' } as const
const paths = { type: 'string[]', format: 'path', description: 'URL paths, with all queries and encodings.' } as const

const l0Fields: FieldSchema = { paths, host }
const proxyFields: FieldSchema = {
  host: { ...host, isRequired: true },
  paths,
  prefixes: { type: 'string[]', format: 'path', description: 'Prefixes of URL paths.' },
}
const moduleFields: FieldSchema = {
  paths: { type: 'string[]', format: 'file', description: 'Source files; their importers are dropped too.' },
  site: { type: 'string', format: 'directory', description: 'Directory whose modules are dropped.' },
}
const appFields: FieldSchema = {
  app_root: { type: 'string', format: 'directory', isRequired: true, description: 'Root or app directory of a site.' },
}
const tagFields: FieldSchema = {
  tag: { type: 'string', description: 'One tag: `route:<label>:<name>`, or `<name>` on every site.' },
  pattern: { type: 'string', description: 'A glob over tags: `route:<label>:*` is a site, `*` is everything.' },
}

function now(): number {
  return performance.now()
}

async function purgeLayer(plane: ControlPlane, layer: 'l0' | 'isr' | 'proxy', scopes: Scopes, scope: PurgeReport['scope']) {
  const outcome = await plane.purges.purge({ layers: [layer], scopes, mode: 'drop' })
  return purgeAnswer({ layer, scope, outcome, tookMs: outcome.tookMs })
}

/** The scopes of an L0 purge: paths of the host that is named, else of the site that was asked, else of every host. */
function l0Scopes(plane: ControlPlane, body: FieldValues, askedHost: string): Scopes {
  const named = stringOf(body, 'host')
  const wanted = listOf(body, 'paths')
  if (wanted === undefined) return named === undefined ? [{ kind: 'everything' }] : [{ kind: 'hosts', hosts: [named] }]
  const hosts = named === undefined ? (plane.sites.hostsBeside(askedHost) ?? null) : [named]
  return [{ kind: 'paths', paths: wanted, hosts }]
}

function purgeL0(plane: ControlPlane, { body, host: askedHost }: EndpointRequest): Promise<EndpointResult> {
  return purgeLayer(plane, 'l0', l0Scopes(plane, body, askedHost), body)
}

/** The scopes of a proxy purge: the listed paths and prefixes of the host, or all of it. */
function proxyScopes(body: FieldValues): Scopes {
  const hosts = [stringOf(body, 'host') ?? '']
  const exact = listOf(body, 'paths')
  const prefixes = listOf(body, 'prefixes')
  if (exact === undefined && prefixes === undefined) return [{ kind: 'hosts', hosts }]
  return [
    { kind: 'paths', paths: exact ?? [], hosts },
    { kind: 'prefixes', prefixes: prefixes ?? [], hosts },
  ]
}

function purgeProxy(plane: ControlPlane, { body }: EndpointRequest): Promise<EndpointResult> {
  return purgeLayer(plane, 'proxy', proxyScopes(body), body)
}

async function purgeModules(plane: ControlPlane, { body }: EndpointRequest): Promise<EndpointResult> {
  const startedAt = now()
  const files = listOf(body, 'paths')
  const dir = stringOf(body, 'site')
  let purged = 0
  // Both are given: the union. Neither: everything.
  if (dir !== undefined) purged += await plane.purges.purgeModules({ dir })
  if (files !== undefined) purged += files.length === 0 ? 0 : await plane.purges.purgeModules({ paths: [...files] })
  if (dir === undefined && files === undefined) purged = await plane.purges.purgeModules({})
  return purgeAnswer({ layer: 'modules', purged, scope: body, tookMs: now() - startedAt })
}

async function purgeApp(plane: ControlPlane, { body }: EndpointRequest): Promise<EndpointResult> {
  const startedAt = now()
  const root = stringOf(body, 'app_root') ?? ''
  const reset = await plane.purges.resetApp(root)
  if (reset.sites.length === 0) {
    const detail = `No site has the root or app directory ${root}. There are: ${reset.roots.join(', ')}`
    return { problem: { status: 404, code: 'unknown_app_root', detail } }
  }
  const outcome = { ...reset, proxy: 0, workersAcked: 0, workersTotal: 0 }
  const scope = { ...body, sites: reset.sites }
  return purgeAnswer({ layer: 'app', purged: reset.evicted, scope, outcome, tookMs: now() - startedAt })
}

function purgeByTag(plane: ControlPlane, { query }: EndpointRequest): EndpointResult | Promise<EndpointResult> {
  const tag = stringOf(query, 'tag')
  const pattern = stringOf(query, 'pattern')
  if ((tag === undefined) === (pattern === undefined)) {
    const errors = [{ path: 'tag', message: 'give either tag or pattern' }]
    return { problem: { status: 400, code: 'invalid_request', errors } }
  }
  const scopes: Scopes =
    tag !== undefined ? [{ kind: 'tags', tags: [tag] }] : [{ kind: 'pattern', pattern: pattern ?? '', labels: null }]
  return purgeLayer(plane, 'isr', scopes, query)
}

async function flushSite(plane: ControlPlane, { params }: EndpointRequest): Promise<EndpointResult> {
  const startedAt = now()
  const site = params['site_id'] ?? ''
  const purged = await plane.renderers.flush(site)
  return purgeAnswer({ layer: 'isolates', purged, scope: { site }, tookMs: now() - startedAt })
}

/** Fresh isolates for every site of a label, and nothing of them stays in the response caches. */
async function flushLabel(plane: ControlPlane, { query }: EndpointRequest): Promise<EndpointResult> {
  const startedAt = now()
  const label = stringOf(query, 'site_label') ?? ''
  const sites = plane.sites.list().filter((site) => site.label === label)
  if (sites.length === 0) return { problem: { status: 404, code: 'unknown_label', detail: `No site has the label ${label}.` } }
  const flushed = await Promise.all(sites.map(({ id }) => plane.renderers.flush(id)))
  const outcome = await plane.purges.purge({
    layers: ['l0', 'isr', 'proxy'],
    scopes: [{ kind: 'labels', labels: [label] }],
    mode: 'drop',
  })
  const purged = flushed.reduce((sum, count) => sum + count, 0)
  const scope = { site_label: label, sites: sites.map(({ id }) => id) }
  return purgeAnswer({ layer: 'isolates', purged, scope, outcome, tookMs: now() - startedAt })
}

async function stats(plane: ControlPlane): Promise<EndpointResult> {
  return jsonAnswer(200, { ok: true, ...(await plane.purges.stats()) })
}

const post = { method: 'POST', isLogged: true } as const
const get = { method: 'GET', isLogged: true } as const
const l0 = { ...post, body: l0Fields, summary: 'Drops responses from the in-process cache of every worker.', handle: purgeL0 }
const proxy = { ...post, body: proxyFields, summary: 'Drops entries of the proxy cache of a host.', handle: purgeProxy }
const figures = { ...get, summary: 'Statistics of all cache layers.', handle: stats }

/** Purges and figures for the host itself. */
export function maintenanceEndpoints(): Endpoint[] {
  const local = { group: 'maintenance', access: 'loopback' } as const
  return [
    { ...l0, ...local, path: '/__svc/cache/purge-l0' },
    { ...proxy, ...local, path: '/__svc/cache/purge-proxy' },
    {
      ...post,
      ...local,
      path: '/__svc/cache/purge-modules',
      summary: 'Drops compiled modules, in isolates and on disk.',
      body: moduleFields,
      handle: purgeModules,
    },
    { ...figures, ...local, path: '/__svc/cache/stats' },
    {
      ...post,
      ...local,
      path: '/compat-cache/purge-app',
      summary: 'Drops modules, routes and pages of a site.',
      body: appFields,
      handle: purgeApp,
    },
  ]
}

/** The part of the management group that the host itself may call. */
export function apiEndpoints(): Endpoint[] {
  const summary = 'Gives a site fresh isolates without losing a request.'
  const path = '/__svc/api/sites/:site_id/isolate/flush'
  return [{ ...post, group: 'api', access: 'loopback', path, summary, handle: flushSite }]
}

/** Purges for those who have a role. */
export function adminPurgeEndpoints(): Endpoint[] {
  const admin = { group: 'admin', access: 'role' } as const
  const labelField = { type: 'string', isRequired: true, description: 'Label of the sites.' } as const
  return [
    {
      ...post,
      ...admin,
      path: '/__svc/admin/api/cache/purge',
      summary: 'Drops rendered responses by tag or pattern of tags.',
      query: tagFields,
      handle: purgeByTag,
    },
    { ...l0, ...admin, path: '/__svc/admin/api/cache/purge-l0' },
    { ...proxy, ...admin, path: '/__svc/admin/api/cache/purge-proxy' },
    { ...figures, ...admin, path: '/__svc/admin/api/cache/stats' },
    {
      ...post,
      ...admin,
      path: '/__svc/admin/api/isolate/flush',
      summary: 'Gives the sites of a label fresh isolates and empty response caches.',
      query: { site_label: labelField },
      handle: flushLabel,
    },
  ]
}
