import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { User } from '@svc/auth'
import { allEndpoints, listEndpoints } from '../src/index.ts'
import { callEndpoint } from './call-endpoint.ts'
import { endpointCases, nameOf, prepareForCases } from './endpoint-cases.ts'
import { FakePlane } from './fake-plane.ts'

const MAX_BYTES = 100 * 1024
/** More than the largest page of any list. */
const ITEMS = 1_100
const admin: User = { username: 'root', role: 'super_admin', tenantId: undefined }
const caller = { kind: 'user', user: admin, jti: '1', expiresAt: 0, by: 'bearer' } as const

/** Lists for programs alone: no page of the panel asks for them. */
const forPrograms = new Set(['cache/stats', 'isolates', 'config', 'overview'].map((path) => `GET /__svc/admin/api/${path}`))
/** Fields that tell items apart. */
const ids = new Set(['id', 'jti', 'name', 'username', 'client', 'pattern', 'place', 'key', 'request_id', 'rule', 'file'])
/** Fields whose text may be long. */
const texts = new Set(['detail', 'hint', 'reason', 'source', 'handler', 'root', 'user_agent', 'subject', 'issuer', 'last_error'])

/** Makes lists long, their items different, and texts long. Lists in the first item of a list are long, too. */
function grown(value: unknown, count = ITEMS, name = ''): unknown {
  if (typeof value === 'string')
    return texts.has(name) && !['file', 'built_in'].includes(value) ? `${value} ${'é'.repeat(3_000)}` : value
  if (value instanceof Map || value instanceof Uint8Array || typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, grown(inner, count, key)]))
  }
  const [first] = value
  if (first === undefined) return value
  return Array.from({ length: Math.max(count, value.length) }, (_, index) => {
    const item: unknown = value[index] ?? first
    if (index < value.length) return typeof item === 'string' ? item : grown(item, index === 0 ? count : 1)
    if (typeof item === 'string') return `${item}-${index}`
    if (typeof item !== 'object' || item === null) return item
    const named = Object.entries(item).map(([key, inner]) => [key, ids.has(key) ? `${inner}-${index}` : inner])
    return grown(Object.fromEntries(named), 1)
  })
}

/** Sources that answer by pages themselves, with rows as long as they get. */
function pagedSources(plane: FakePlane): void {
  const path = `/${'é'.repeat(250)}`
  const rows = <Row>(limit: number, before: number, row: (index: number) => Row) =>
    Array.from({ length: Math.max(0, Math.min(limit, before - 1)) }, (_, index) => row(before - 1 - index))
  const next = (limit: number, before: number) => (before - limit > 1 ? before - limit : null)
  const at = '2026-01-01T00:00:00.000Z'
  const long = '\u0001'.repeat(500)
  plane.audit.page = async ({ limit, before = ITEMS + 1 }) => ({
    entries: rows(limit, before, (index) => {
      const texts = { username: 'é'.repeat(256), address: long, action: long, target: long, detail: long }
      return { at, ...texts, result: 'ok', request_id: `${index}` }
    }),
    cursor: next(limit, before),
  })
  plane.waf.events = async ({ limit, before = ITEMS + 1 }) => ({
    events: rows(limit, before, (index) => {
      const of = { rule: 'r', action: 'block', site: 'shop', client: '192.0.2.1', method: 'GET' } as const
      return { at, ...of, request_id: `${index}`, path: `/${'%c3%a9'.repeat(1_300)}` }
    }),
    cursor: next(limit, before),
  })
  plane.flows.page = async ({ limit, before: { request_id: id = `${ITEMS + 1}` } = { at, request_id: `${ITEMS + 1}` } }) => ({
    flows: rows(limit, Number(id), (index) => {
      const stage = { name: 'x'.repeat(40), start_ms: 1.001, duration_ms: 2.002, outcome: 'ok' }
      const facts = { site: 'shop', method: 'GET', path, status: 500, duration_ms: 3, reason: 'failed' } as const
      return { request_id: `${index}`, at, ...facts, stages: Array.from({ length: 17 }, () => stage) }
    }),
    answered: 1,
    total: 1,
  })
  plane.entries.list = async ({ limit, cursor }) => {
    const before = Number(cursor?.split('.')[1] ?? ITEMS + 1)
    const [entry] = (await new FakePlane().entries.list({ layer: 'isr', labels: undefined, limit: 1 }))?.entries ?? []
    assert.ok(entry !== undefined)
    const tags = Array.from({ length: 128 }, (_, index) => `${index}${'é'.repeat(253)}`)
    const entries = rows(limit, before, (index) => ({
      ...entry,
      key: `${index}${'k'.repeat(4_000)}`,
      path: path.repeat(8),
      tags,
    }))
    return { entries, cursor: before - limit > 1 ? `0.${before - limit}` : null, missing: [] }
  }
  const { find } = plane.entries
  plane.entries.find = async (...wanted) => {
    const entry = await find(...wanted)
    return entry && { ...entry, path: path.repeat(16), tags: Array.from({ length: 128 }, (_, n) => `${n}${'é'.repeat(253)}`) }
  }
  plane.body = Buffer.alloc(MAX_BYTES, 1)
  plane.logs.page = async (_filter, { limit }) => ({
    lines: Array.from({ length: Math.min(4, limit) }, (_, index) => `\u0001${index}${'\u0001'.repeat(16_000)}`),
    dropped: 0,
    next: { at: 1, number: 1 },
  })
  const value = { value: `"${'\\"'.repeat(250)}"`, origin: 'file', after_restart: `"${'\\"'.repeat(250)}"` } as const
  plane.instance.values = async ({ limit, skip }) => ({
    generation: 1,
    values: Array.from({ length: Math.min(limit, ITEMS - skip) }, (_, index) => {
      return { ...value, key: `k${skip + index}`, place: 'p'.repeat(300) }
    }),
    total: ITEMS,
  })
}

/** A plane of an instance with as much of everything as there can be. */
function largePlane(): FakePlane {
  const plane = new FakePlane()
  prepareForCases(plane)
  for (const part of Object.values(plane)) {
    if (typeof part !== 'object' || Array.isArray(part)) continue
    for (const [name, run] of Object.entries(part as Record<string, unknown>)) {
      if (typeof run !== 'function' || name === 'list' || name === 'find' || name === 'body') continue
      Object.assign(part, { [name]: grownResult(run as (...args: unknown[]) => unknown) })
    }
  }
  for (const part of [plane.sites, plane.sessions, plane.tasks, plane.plugins, plane.releases]) {
    Object.assign(part, { list: grownResult(part.list as (...args: unknown[]) => unknown) })
  }
  plane.slos = grownResult(plane.slos)
  plane.health = async () => ({
    status: 'degraded',
    uptime_secs: 1,
    checks: { render_pool: `degraded: ${'é'.repeat(200_000)}`, isr_cache: 'ok' },
  })
  pagedSources(plane)
  return plane
}

function grownResult<Run extends (...args: never[]) => unknown>(run: Run): Run {
  const known = new Map<string, unknown>()
  return ((...args: never[]) => {
    const key = JSON.stringify(args)
    if (known.has(key)) return known.get(key)
    const result = run(...args)
    known.set(key, result instanceof Promise ? result.then((value) => grown(value)) : grown(result))
    return known.get(key)
  }) as Run
}

/** The list of an answer, and how many of its items were seen. */
const listsOf = (json: Record<string, unknown>) =>
  Object.values(json)
    .filter(Array.isArray)
    .reduce((sum, { length }) => sum + length, 0)

test('no answer to the panel is larger than 100 KB, and the pages of a list have all of it', async (t) => {
  const plane = largePlane()
  let sizes = 0
  for (const endpoint of listEndpoints(allEndpoints)) {
    const name = nameOf(endpoint)
    const right = endpointCases[name]
    const isAsked = endpoint.method === 'GET' && ['admin', 'obs'].includes(endpoint.group) && endpoint.response !== undefined
    if (!isAsked || right === undefined || forPrograms.has(name)) continue
    const path = endpoint.path.replaceAll(/:(\w+)/g, (_, param) => encodeURIComponent(right.params?.[param] ?? ''))
    const isPaged = 'cursor' in endpoint.query().shape
    const isEntry = name.endsWith('/entries/:key')
    const { cursor: _, limit: __, ...given } = right.query ?? {}
    const query = { ...given, ...(isEntry ? { body: '1', body_bytes: '16384' } : {}) }
    let items = 0
    let cursor: unknown
    let pages = 0
    do {
      const place = cursor === undefined ? {} : { cursor: String(cursor) }
      const target = `${path}?${new URLSearchParams({ ...query, ...place })}`
      const { status, json } = await callEndpoint(target, { method: 'GET', plane, caller })
      const bytes = Buffer.byteLength(JSON.stringify(json))
      assert.equal(status, 200, target)
      assert.ok(bytes <= MAX_BYTES, `${name}: ${bytes} bytes`)
      sizes = Math.max(sizes, bytes)
      items += listsOf(json)
      cursor = json['cursor']
      pages++
    } while (isPaged && cursor !== null && !name.endsWith('/logs') && pages < ITEMS)
    if (!isPaged || name.endsWith('/logs')) continue
    assert.equal(cursor, null, `${name} ends`)
    assert.ok(pages > 1, `${name} has pages`)
    if (!('q' in query || 'origin' in query)) assert.ok(items >= ITEMS, `${name}: ${items} items`)
  }
  t.diagnostic(`the largest answer has ${sizes} bytes`)
})
