import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matches, type Purgeable, type PurgeScope } from '../src/index.ts'

const page: Purgeable = {
  label: 'shop',
  host: 'shop.example',
  path: '/blog/hello',
  tags: ['route:shop:/blog/hello', 'route:shop:/blog/[slug]', 'route:shop:posts'],
}
const data: Purgeable = { label: 'shop', host: '', path: '', tags: [] }

const isTaken = (scope: PurgeScope, entry: Purgeable): boolean =>
  matches({ number: 1, layers: ['isr'], mode: 'drop', scopes: [scope] }, entry)

const cases: ReadonlyArray<readonly [scope: PurgeScope, page: boolean, data: boolean]> = [
  [{ kind: 'everything' }, true, true],
  [{ kind: 'labels', labels: ['other'] }, false, false],
  [{ kind: 'labels', labels: ['other', 'shop'] }, true, true],
  [{ kind: 'hosts', hosts: ['other.example'] }, false, false],
  [{ kind: 'hosts', hosts: ['shop.example'] }, true, false],
  [{ kind: 'tags', tags: ['route:other:posts'] }, false, false],
  [{ kind: 'tags', tags: ['route:shop:/blog/[slug]'] }, true, false],
  [{ kind: 'pattern', pattern: '*', labels: ['other'] }, false, false],
  [{ kind: 'pattern', pattern: '*', labels: null }, true, true],
  [{ kind: 'pattern', pattern: 'route:shop:*', labels: null }, true, true],
  [{ kind: 'pattern', pattern: 'route:shop:/blog/*', labels: null }, true, false],
  [{ kind: 'pattern', pattern: 'route:*:posts', labels: ['shop'] }, true, false],
  [{ kind: 'pattern', pattern: 'route:*:posts', labels: ['other'] }, false, false],
  [{ kind: 'paths', paths: ['/blog'], hosts: null }, false, false],
  [{ kind: 'paths', paths: ['/blog/hello/'], hosts: null }, true, false],
  [{ kind: 'paths', paths: ['/blog/hello'], hosts: ['other.example'] }, false, false],
  [{ kind: 'paths', paths: ['/blog/hello'], hosts: ['shop.example'] }, true, false],
  [{ kind: 'prefixes', prefixes: ['/blog/'], hosts: ['shop.example'] }, true, false],
  [{ kind: 'prefixes', prefixes: ['/'], hosts: ['other.example'] }, false, false],
]

for (const [scope, isPageTaken, isDataTaken] of cases) {
  test(`${JSON.stringify(scope)} takes what it should`, () => {
    assert.equal(isTaken(scope, page), isPageTaken, 'page')
    assert.equal(isTaken(scope, data), isDataTaken, 'data')
  })
}

test('an entry is taken when any scope matches, and never without a scope', () => {
  const order = { number: 1, layers: ['isr'], mode: 'drop' } as const
  assert.equal(matches({ ...order, scopes: [] }, page), false)
  const scopes: PurgeScope[] = [
    { kind: 'labels', labels: ['other'] },
    { kind: 'tags', tags: ['route:shop:posts'] },
  ]
  assert.equal(matches({ ...order, scopes }, page), true)
})

test('a purge that is bound to labels takes nothing of others, whatever its scopes name', () => {
  for (const [scope, isPageTaken] of cases) {
    const purge = { number: 1, layers: ['isr'], mode: 'drop', scopes: [scope] } as const
    assert.equal(matches({ ...purge, labels: ['other'] }, page), false, JSON.stringify(scope))
    assert.equal(matches({ ...purge, labels: ['shop'] }, page), isPageTaken, JSON.stringify(scope))
  }
})
