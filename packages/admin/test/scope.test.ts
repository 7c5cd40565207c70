import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@svc/core'
import { type PurgeOrder, planeOfTenant } from '../src/index.ts'
import { FakePlane, isolate } from './fake-plane.ts'
import { wafEvent } from './waf-samples.ts'

const drop = (...scopes: PurgeOrder['scopes']): PurgeOrder => ({ layers: ['isr'], scopes, mode: 'drop' })

test('a tenant sees its own sites, with their hosts, servers and isolates', async () => {
  const { sites, renderers } = planeOfTenant(new FakePlane(), 'acme')
  assert.deepEqual(
    sites.list().map(({ id }) => id),
    ['shop'],
  )
  assert.equal(sites.ofHost('shop.test:80'), 'shop')
  assert.equal(sites.ofHost('blog.test'), undefined)
  assert.equal(sites.hostsBeside('blog.test'), undefined)
  assert.equal(sites.vhosts().length, 1)
  assert.deepEqual(await renderers.isolates(), { isolates: [isolate], missing: ['h2'] })
  assert.deepEqual(await renderers.isolates(['blog']), { isolates: [], missing: ['h2'] })
  assert.equal((await renderers.pools()).length, 1)
  const other = planeOfTenant(new FakePlane(), 'nobody')
  assert.deepEqual([other.sites.list(), other.sites.vhosts(), (await other.renderers.isolates()).isolates], [[], [], []])
})

test('a site of another tenant answers as one that does not exist', async () => {
  const { sites, renderers } = planeOfTenant(new FakePlane(), 'acme')
  for (const id of ['blog', 'nothing']) {
    const error = { code: 'UNKNOWN_SITE', status: 404, message: `no site has the id "${id}"` }
    await assert.rejects(sites.routes(id), error)
    await assert.rejects(renderers.flush(id), error)
    await assert.rejects(renderers.modules(id), error)
  }
})

test('purges are bound to labels that only sites of the tenant have', async () => {
  const plane = new FakePlane()
  const { purges } = planeOfTenant(plane, 'acme')
  await purges.purge(drop({ kind: 'everything' }))
  await purges.purge(drop({ kind: 'paths', paths: ['/'], hosts: ['www.shop.test'] }))
  assert.deepEqual(
    plane.orders.map(({ labels }) => labels),
    [['shop'], ['shop']],
  )
  const list = plane.sites.list
  plane.sites.list = () => [...list(), { ...(list()[1] ?? assert.fail()), id: 'copy', label: 'shop' }]
  await purges.purge(drop({ kind: 'everything' }))
  assert.deepEqual(plane.orders.at(-1)?.labels, [])
})

test('a host of another tenant answers as one that does not exist, in every scope that names hosts', async () => {
  const plane = new FakePlane()
  const { purges } = planeOfTenant(plane, 'acme')
  for (const host of ['blog.test', 'nothing.test']) {
    const hosts = ['shop.test', host]
    const scopes: PurgeOrder['scopes'] = [
      { kind: 'hosts', hosts },
      { kind: 'paths', paths: ['/'], hosts },
      { kind: 'prefixes', prefixes: ['/'], hosts },
    ]
    for (const scope of scopes) await assert.rejects(purges.purge(drop(scope)), { code: 'UNKNOWN_HOST', status: 404 })
  }
  assert.deepEqual(plane.orders, [])
})

test('operations on the whole instance are refused', async () => {
  const { purges, renderers } = planeOfTenant(new FakePlane(), 'acme')
  const refused = [
    purges.purgeModules({}),
    purges.resetApp('/srv/shop'),
    renderers.restart(),
    renderers.restartStatus('r1', false),
  ]
  for (const call of refused) await assert.rejects(call, { code: 'NOT_FOR_TENANTS', status: 403 })
})

test('a tenant sees the alerts and objectives of its own sites, and none of others or of the instance', async () => {
  const plane = new FakePlane()
  const slosOf = async (tenant: string) => (await planeOfTenant(plane, tenant).slos()).map(({ name }) => name)
  assert.deepEqual([await slosOf('acme'), await slosOf('nobody')], [['shop-up'], []])
  const seen = async (tenant: string) => (await planeOfTenant(plane, tenant).alerts.report()).alerts.map(({ site }) => site)
  assert.deepEqual(await seen('acme'), ['shop'])
  assert.deepEqual(await seen('nobody'), [])
  assert.equal((await plane.alerts.report()).alerts.length, 3)
})

test('a tenant sees and changes rules of the firewall that are bound to its own sites', async () => {
  const plane = new FakePlane()
  const { waf } = planeOfTenant(plane, 'acme')
  assert.deepEqual(
    waf.rules().map(({ id }) => id),
    ['of-shop'],
  )
  const order = (id: string, site: string | undefined, isNew: boolean) => {
    const rule = { id, site, action: 'block' as const, when: { path: 'x' } }
    return waf.setRule({ id, rule, isNew, username: 'tom' })
  }
  await order('mine', 'shop', true)
  await order('of-shop', 'shop', false)
  const isLimited = plane.calls.map((call) => (call as { setRule: { isOfTenant?: boolean } }).setRule.isOfTenant)
  assert.deepEqual(isLimited, [true, true])
  await waf.removeRule({ id: 'of-shop', username: 'tom' })
  assert.equal(plane.calls.length, 3)
  await assert.rejects(order('mine', undefined, true), { code: 'NOT_FOR_TENANTS' })
  await assert.rejects(order('of-shop', undefined, false), { code: 'NOT_FOR_TENANTS' })
  await assert.rejects(order('mine', 'blog', true), { code: 'UNKNOWN_SITE' })
  for (const id of ['of-blog', 'everywhere', 'nothing']) {
    await assert.rejects(order(id, 'shop', false), { code: 'UNKNOWN_RULE' }, id)
    await assert.rejects(waf.removeRule({ id, username: 'tom' }), { code: 'UNKNOWN_RULE' }, id)
  }
  await assert.rejects(waf.setMode({ mode: 'off', username: 'tom' }), { code: 'NOT_FOR_TENANTS' })
  assert.equal(plane.calls.length, 3)
  await waf.events({ sites: ['shop', 'blog'], limit: 1 })
  assert.deepEqual(plane.calls.at(-1), { wafEvents: { sites: ['shop'], rule: undefined, limit: 1 } })
})

test('a tenant that names a rule like one that it does not see is not told so', async () => {
  const plane = new FakePlane()
  const stored = new Map(plane.waf.rules().map((rule) => [rule.id, rule]))
  plane.waf.rules = () => [...stored.values()]
  plane.waf.setRule = async ({ rule, isNew }) => {
    if (isNew && stored.has(rule.id)) throw new AppError('SUP_RULE_EXISTS', 'it exists', { status: 409, exposable: true })
    stored.set(rule.id, rule)
  }
  plane.waf.removeRule = async ({ id }) => void stored.delete(id)
  plane.waf.events = async () => ({ events: [...stored.keys()].map((rule) => ({ ...wafEvent, rule })), cursor: null })
  const { waf } = planeOfTenant(plane, 'acme')
  const set = (id: string, isNew: boolean, path = 'x') =>
    waf.setRule({ id, rule: { id, site: 'shop', action: 'block', when: { path } }, isNew, username: 'tom' })
  for (const id of ['of-blog', 'everywhere', 'free']) await set(id, true)
  assert.equal(stored.size, 6, 'no rule of others was replaced')
  const seen = () => waf.rules().map(({ id }) => id)
  assert.deepEqual(seen(), ['of-shop', 'of-blog', 'everywhere', 'free'])
  assert.deepEqual(planeOfTenant(plane, 'nobody').waf.rules(), [])
  for (const id of seen()) await assert.rejects(set(id, true), { code: 'SUP_RULE_EXISTS' }, id)
  await set('of-blog', false, 'changed')
  assert.deepEqual(stored.get('of-blog')?.when, { path: '^/x' }, 'the rule of the other site is as it was')
  assert.deepEqual(waf.rules()[1]?.when, { path: 'changed' })
  const named = (await waf.events({ sites: ['shop'], limit: 9 })).events.map(({ rule }) => rule)
  assert.deepEqual(named, ['everywhere', 'of-shop', 'of-blog', 'of-blog', 'everywhere', 'free'])
  await waf.removeRule({ id: 'everywhere', username: 'tom' })
  assert.deepEqual([seen(), stored.has('everywhere')], [['of-shop', 'of-blog', 'free'], true])
})
