import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeNext, withParameter } from '../src/address/router.ts'
import { matching, siteWords } from '../src/app/commands.ts'
import { urlOf } from '../src/data/api.ts'
import { waitBeforeTry } from '../src/data/live-stream.ts'
import { pages } from '../src/pages/pages.ts'

test('after a login the panel goes to one of its own pages, whatever the address names', () => {
  assert.equal(safeNext('/__svc/admin/sites?q=a'), '/__svc/admin/sites?q=a')
  assert.equal(safeNext('/__svc/obs/dashboard'), '/__svc/obs/dashboard')
  const hostile = ['https://evil.test/', '//evil.test', '/\\evil.test', 'javascript:alert(1)', '/__svc/adminx', '/shop', '', null]
  for (const next of hostile) assert.equal(safeNext(next), '/__svc/admin', String(next))
})

test('a parameter is changed in the address without the others, and an empty one is left out', () => {
  const place = { path: '/__svc/admin/sites', query: new URLSearchParams('q=a&state=ok') }
  assert.equal(withParameter(place, 'q', 'b & c'), '/__svc/admin/sites?q=b+%26+c&state=ok')
  assert.equal(withParameter(place, 'q', ''), '/__svc/admin/sites?state=ok')
  assert.equal(withParameter({ ...place, query: new URLSearchParams('q=a') }, 'q', ''), '/__svc/admin/sites')
})

test('a request leaves out parameters without a value', () => {
  assert.equal(urlOf('/obs/logs', { q: '', site: undefined, limit: 5, level: 'a&b' }), '/__svc/obs/logs?limit=5&level=a%26b')
})

test('the palette finds commands by all words in any order, and first those that begin with the text', () => {
  const command = (kind: string, label: string) => ({ kind, label, run: () => undefined })
  const all = [command('Page', 'All sites'), command('Page', 'Sites'), command('Site', 'blog'), command('Action', 'Log out')]
  const labels = (text: string) => matching(all, text).map(({ label }) => label)
  assert.deepEqual(labels('sites'), ['Sites', 'All sites'])
  assert.deepEqual(labels('blog site'), ['blog'])
  assert.deepEqual(labels('  OUT log '), ['Log out'])
  assert.deepEqual(labels('nothing'), [])
  const many = Array.from({ length: 1000 }, (_, index) => command('Site', `s${index}`))
  assert.equal(matching(many, 's').length, 50)
})

test('the server finds sites by the words of a text, or by the host of a URL', () => {
  assert.equal(siteWords(' https://shop.test:8080/a?b '), 'shop.test')
  assert.equal(siteWords('Site blog old'), 'blog old')
  assert.equal(siteWords('sit'), '')
  assert.equal(siteWords('/a'), '/a')
})

test('a stream waits longer before each try, up to half a minute, and not all pages equally long', () => {
  assert.deepEqual(
    [0, 1, 5, 30].map((tries) => waitBeforeTry(tries, 1)),
    [1000, 2000, 30_000, 30_000],
  )
  assert.equal(waitBeforeTry(1, 0), 1000)
})

test('every page has a path of its own, and the page above it exists', () => {
  const paths = pages.map(({ path }) => path)
  assert.equal(new Set(paths).size, paths.length)
  for (const { path, parent } of pages) {
    assert.match(path, /^\/__svc\/(?:admin(?:\/[a-z-]+)?|obs\/dashboard)$/)
    if (parent !== undefined) assert.ok(paths.includes(parent), path)
  }
})
