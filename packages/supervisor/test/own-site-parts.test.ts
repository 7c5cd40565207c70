import assert from 'node:assert/strict'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { PurgeOrder, PurgeScope } from '@svc/cache'
import { tempDir } from '@svc/testkit'
import { readPrivate, siteSocket } from '../../processes/src/directories/unit-paths.ts'
import { UnitPurges } from '../../site-unit/src/unit-host.ts'
import { orderOfSite } from '../src/own-site/attached-unit.ts'

const order = (scope: PurgeScope, layers: PurgeOrder['layers'] = ['isr']): PurgeOrder => ({
  layers,
  scopes: [scope],
  mode: 'drop',
})

test('a unit may not purge what is not of its site', () => {
  const foreign: PurgeOrder[] = [
    order({ kind: 'everything' }),
    order({ kind: 'labels', labels: ['shop'] }),
    order({ kind: 'hosts', hosts: ['shop.test'] }),
    order({ kind: 'tags', tags: ['route:shop:a', 'route:blog:a'] }),
    order({ kind: 'tags', tags: ['route:shopping:a'] }),
    order({ kind: 'pattern', pattern: 'route:shop:*', labels: null }),
    order({ kind: 'pattern', pattern: 'route:shop:*', labels: ['shop', 'blog'] }),
    order({ kind: 'tags', tags: ['route:shop:a'] }, ['isr', 'proxy']),
  ]
  for (const one of foreign) assert.throws(() => orderOfSite(one, 'shop'), { code: 'SUP_UNIT_REFUSED' }, JSON.stringify(one))
  for (const scope of [
    { kind: 'tags', tags: ['route:shop:a', 'route:shop:/b'] },
    { kind: 'pattern', pattern: 'route:shop:/b/*', labels: ['shop'] },
  ] as const) {
    assert.equal(orderOfSite(order(scope), 'shop').scopes[0], scope)
  }
})

test('a file that is reached by a link, or is none, is not read', async (t) => {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'file'), 'secret', { mode: 0o600 })
  symlinkSync('file', join(dir, 'link'))
  assert.equal(await readPrivate(join(dir, 'file')), 'secret')
  await assert.rejects(readPrivate(join(dir, 'link')), { code: 'ELOOP' })
  await assert.rejects(readPrivate(dir), { code: 'SUP_SITE_FILE' })
})

test('the socket of a site fits below every run directory and is never one of the master', () => {
  const runDir = `/${'r'.repeat(74)}`
  assert.equal(siteSocket('/run/svc', 'shop'), '/run/svc/shop.sock')
  const names = ['control', 'units', 'host-1', 'a'.repeat(63), `${'a'.repeat(62)}b`].map((id) => siteSocket(runDir, id))
  assert.equal(new Set(names).size, names.length)
  for (const name of names) {
    assert.match(name, /\/site-[0-9a-f]{16}\.sock$/)
    // A digit follows while a host starts.
    assert.ok(Buffer.byteLength(name) + 1 <= 107, name)
  }
})

test('a host that starts later gets the purges that the stores have not applied yet', () => {
  const purge = (number: number) => ({ ...order({ kind: 'everything' }), number })
  const known = new UnitPurges({ last: 7, unsettled: [purge(6)] }, 'boot')
  known.add(purge(8))
  known.settled(6)
  assert.deepEqual(known.state(), { last: 8, unsettled: [purge(8)] })
  known.settled(8)
  assert.deepEqual(known.state(), { last: 8, unsettled: [] })
})
