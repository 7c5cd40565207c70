import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { test } from 'node:test'
import type { PurgeScope } from '@svc/cache'
import type { SiteConfig } from '@svc/config'
import { createLogger } from '@svc/telemetry'
import { tempDir, writeFiles } from '@svc/testkit'
import { RollingRestart } from '../src/fleet/rolling-restart.ts'
import { sitesAt } from '../src/master/actions.ts'
import { orderOfChange, SiteChanges } from '../src/master/site-changes.ts'
import { resolveOrder } from '../src/purges/resolve-order.ts'

const labels = ['blog', 'shop']
const resolved = (scope: PurgeScope) => resolveOrder({ layers: ['isr'], scopes: [scope], mode: 'drop' }, labels).scopes[0]

test('an invalid tag, path or host is rejected by name', () => {
  const wrong: [scope: PurgeScope, message: RegExp][] = [
    [{ kind: 'tags', tags: [''] }, /"" names no tag/],
    [{ kind: 'tags', tags: ['route:'] }, /"route:"/],
    [{ kind: 'paths', paths: ['blog'], hosts: null }, /"blog" is not a path/],
    [{ kind: 'paths', paths: ['/%zz'], hosts: null }, /"\/%zz"/],
    [{ kind: 'prefixes', prefixes: ['/ok', 'x'], hosts: ['a.test'] }, /"x"/],
    [{ kind: 'hosts', hosts: ['a b'] }, /"a b" is not a host/],
    [{ kind: 'hosts', hosts: ['a/b'] }, /"a\/b"/],
    [{ kind: 'hosts', hosts: [''] }, /"" is not a host/],
  ]
  for (const [scope, message] of wrong) assert.throws(() => resolved(scope), { code: 'SUP_BAD_PURGE', status: 400, message })
})

test('tags are completed, paths and hosts brought into the form of requests', () => {
  const cases: [scope: PurgeScope, expected: PurgeScope][] = [
    [
      { kind: 'tags', tags: ['posts', 'route:/about/', 'route:shop:/x'] },
      { kind: 'tags', tags: ['route:blog:posts', 'route:shop:posts', 'route:blog:/about', 'route:shop:/about', 'route:shop:/x'] },
    ],
    [
      { kind: 'pattern', pattern: 'route:blog:*', labels: null },
      { kind: 'labels', labels: ['blog'] },
    ],
    [{ kind: 'pattern', pattern: '*', labels: null }, { kind: 'everything' }],
    [
      { kind: 'paths', paths: ['/a//b/../%41', '/ü'], hosts: ['A.test:8080', '[::1]:80'] },
      { kind: 'paths', paths: ['/a/A', '/%C3%BC'], hosts: ['a.test', '[::1]'] },
    ],
    [
      { kind: 'paths', paths: ['/'], hosts: null },
      { kind: 'paths', paths: ['/'], hosts: null },
    ],
    [
      { kind: 'hosts', hosts: ['Shop.Test.'] },
      { kind: 'hosts', hosts: ['shop.test'] },
    ],
  ]
  for (const [given, expected] of cases) assert.deepEqual(resolved(given), expected)
})

test('in an order that is bound to labels, tags mean these only', () => {
  const scope: PurgeScope = { kind: 'tags', tags: ['posts', 'route:shop:/x', 'route:blog:secret'] }
  const order = resolveOrder({ layers: ['isr'], scopes: [scope], mode: 'drop', labels: ['shop', 'none'] }, labels)
  assert.deepEqual(order.scopes, [{ kind: 'tags', tags: ['route:shop:posts', 'route:shop:/x', 'route:shop:blog:secret'] }])
  assert.deepEqual(order.labels, ['shop', 'none'])
})

test('a change of code marks the pages of its routes as stale, drops them in development, and leaves data alone', () => {
  const site = (mode: SiteConfig['mode']) => ({ label: 'shop', mode })
  assert.equal(orderOfChange(site('production'), { routes: [], movesPaths: false }), undefined)
  assert.deepEqual(orderOfChange(site('production'), { routes: ['/', '/items/[id]'], movesPaths: false }), {
    layers: ['isr'],
    scopes: [{ kind: 'tags', tags: ['route:shop:/', 'route:shop:/items/[id]'] }],
    mode: 'stale',
    changedCode: ['shop'],
  })
  assert.deepEqual(orderOfChange(site('development'), { routes: null, movesPaths: false }), {
    layers: ['isr'],
    scopes: [{ kind: 'pattern', pattern: 'route:shop:/*', labels: ['shop'] }],
    mode: 'drop',
    changedCode: ['shop'],
  })
})

test('pages are dropped in production where routes were added or removed', () => {
  assert.deepEqual(orderOfChange({ label: 'shop', mode: 'production' }, { routes: ['/new'], movesPaths: true }), {
    layers: ['isr'],
    scopes: [{ kind: 'tags', tags: ['route:shop:/new'] }],
    mode: 'drop',
    changedCode: ['shop'],
  })
})

test('a site is found by its root or app directory, links followed', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'one/app/page.tsx': '', 'two/src/app/page.tsx': '', 'three/page.tsx': '' })
  symlinkSync(`${dir}/one`, `${dir}/current`)
  const site = (id: string, root = `${dir}/${id}`) => ({ id, root }) as SiteConfig
  const sites = [site('one'), site('two'), site('three'), site('linked', `${dir}/current`)]
  const idsAt = async (path: string) => (await sitesAt(sites, `${dir}/${path}`)).map(({ id }) => id)
  assert.deepEqual(await idsAt('gone'), [])
  assert.deepEqual(await idsAt('.'), [])
  assert.deepEqual(await idsAt('one/app/page.tsx'), [])
  assert.deepEqual(await idsAt('two/src/app/'), ['two'])
  assert.deepEqual(await idsAt('three'), ['three'])
  assert.deepEqual(await idsAt('current/app'), ['one', 'linked'])
})

test('a rolling restart replaces one after another, is joined while it runs, and reports its state', async () => {
  const log: string[] = []
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const replaceables = gates.map(({ promise }, index) => ({
    id: `h${index}`,
    replace: async () => {
      log.push(`begin ${index}`)
      await promise
      log.push(`end ${index}`)
    },
  }))
  const restarts = new RollingRestart(() => replaceables)
  const { id, ...begun } = restarts.begin()
  assert.deepEqual(begun, { state: 'running', replaced: 0, total: 2 })
  assert.equal(restarts.begin().id, id)
  const ended = restarts.status(id, true)
  gates[0]?.resolve()
  gates[1]?.resolve()
  assert.deepEqual(await ended, { id, state: 'done', replaced: 2, total: 2 })
  assert.deepEqual(log, ['begin 0', 'end 0', 'begin 1', 'end 1'])
  assert.deepEqual(await restarts.status(id, false), { id, state: 'done', replaced: 2, total: 2 })
  assert.equal(await restarts.status('unknown', true), undefined)
  assert.notEqual(restarts.begin().id, id)
})

test('one process is replaced at a time: a restart of it is joined, others wait', async () => {
  const log: string[] = []
  const gate = Promise.withResolvers<void>()
  const one = (id: string) => ({
    id,
    replace: async () => {
      log.push(id)
      await gate.promise
    },
  })
  const restarts = new RollingRestart(() => [one('h1')])
  const first = restarts.beginOne(one('w1'))
  assert.equal(restarts.beginOne(one('w1')).id, first.id)
  const rolling = restarts.begin()
  const other = restarts.beginOne(one('w2'))
  assert.equal(new Set([first.id, rolling.id, other.id]).size, 3)
  gate.resolve()
  assert.deepEqual(await restarts.status(other.id, true), { id: other.id, state: 'done', replaced: 1, total: 1 })
  assert.deepEqual(log, ['w1', 'h1', 'w2'])
  assert.notEqual(restarts.beginOne(one('w1')).id, first.id)
})

test('a rolling restart that fails says why, and leaves the rest unchanged', async () => {
  let last = 0
  const failing = { id: 'one', replace: () => Promise.reject(new Error('no memory')) }
  const untouched = { id: 'one', replace: async () => void last++ }
  const restarts = new RollingRestart(() => [failing, untouched])
  const { id } = restarts.begin()
  const status = await restarts.status(id, true)
  assert.deepEqual(status, { id, state: 'failed', replaced: 0, total: 2, error: 'no memory' })
  assert.equal(last, 0)
})

test('a change is recorded with the version from before it, and only after all processes have applied it', async () => {
  const site = { id: 'shop', label: 'shop', mode: 'production' } as SiteConfig
  const steps: string[] = []
  let isRefused = false
  const changes = new SiteChanges({
    sites: () => [site],
    notifyHosts: async () => {
      steps.push('hosts')
      return { routes: ['/'], movesPaths: false }
    },
    notifyWorkers: () => steps.push('workers'),
    purge: async () => {
      steps.push('purge')
      if (isRefused) throw new Error('full')
      return {
        number: 1,
        l0: 0,
        isr: 1,
        proxy: 0,
        workersAcked: 1,
        workersTotal: 1,
        instances: { acked: 1, known: 1 },
        tookMs: 1,
      }
    },
    isChanged: async () => false,
    onChanging: async () => {
      steps.push('looked')
      return async () => void steps.push('noted')
    },
    look: async () => changes.noticed('shop', []),
    logger: createLogger({ level: 'silent', format: 'json', base: {} }),
  })
  await changes.changed('shop', [])
  assert.deepEqual(steps.splice(0), ['looked', 'hosts', 'workers', 'purge', 'noted'])
  // A look that finds a change is settled when that was carried out.
  await changes.settled('shop')
  assert.deepEqual(steps.splice(0), ['looked', 'hosts', 'workers', 'purge', 'noted'])
  isRefused = true
  await assert.rejects(changes.changed('shop', []), /full/)
  assert.deepEqual(steps, ['looked', 'hosts', 'workers', 'purge'])
})
