import assert from 'node:assert/strict'
import { renameSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { SmallFileCache } from '../src/static/small-file-cache.ts'
import { cacheControlOf } from '../src/static/variant.ts'
import { fieldOf, RecordedExchange } from './recorded-exchange.ts'
import { StaticSite } from './static-site.ts'

test('answers an edited file at once, even with the same size and time of modification', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'one' })
  site.touch('a.txt', 1_700_000_000)
  const first = await site.found('/a.txt')
  const changedAt = () => statSync(site.pathOf('a.txt'), { bigint: true }).ctimeNs
  const before = changedAt()
  // File systems count in ticks: two changes within one leave the same time.
  await waitFor('a later tick', () => {
    site.write('a.txt', 'two')
    site.touch('a.txt', 1_700_000_000)
    return changedAt() !== before
  })
  const second = await site.found('/a.txt')
  assert.deepEqual([first.body.toString(), second.body.toString()], ['one', 'two'])
  assert.notEqual(fieldOf(first.head, 'etag'), fieldOf(second.head, 'etag'))
  site.write('new.txt', 'three')
  site.touch('new.txt', 1_600_000_000)
  renameSync(site.pathOf('new.txt'), site.pathOf('a.txt'))
  assert.equal((await site.found('/a.txt')).body.toString(), 'three')
})

test('sends type, validators and lifetime', async (t) => {
  const site = new StaticSite(t, { 'a.css': 'body{}' })
  site.touch('a.css', 1_700_000_000)
  const { head, body } = await site.found('/a.css')
  assert.equal(head.status, 200)
  assert.equal(body.toString(), 'body{}')
  const names = head.headers.map(([name]) => name)
  assert.deepEqual(names, ['content-type', 'etag', 'last-modified', 'cache-control', 'accept-ranges'])
  assert.equal(fieldOf(head, 'content-type'), 'text/css; charset=utf-8')
  assert.match(fieldOf(head, 'etag') ?? '', /^"[0-9a-z]+-[0-9a-z]+-[0-9a-z]+"$/)
  assert.equal(fieldOf(head, 'last-modified'), 'Tue, 14 Nov 2023 22:13:20 GMT')
  assert.equal(fieldOf(head, 'cache-control'), 'public, max-age=0, must-revalidate')
})

test('a file from the future is not said to be newer than now (RFC 9110 section 8.8.2.1)', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'a' })
  site.touch('a.txt', 4_000_000_000)
  const { head } = await site.found('/a.txt')
  assert.ok(Date.parse(fieldOf(head, 'last-modified') ?? '') <= Date.now())
})

test('finds files by their escaped names', async (t) => {
  const site = new StaticSite(t, { 'caf\u00e9 & co.txt': 'a', '100%.txt': 'b' })
  assert.equal((await site.found('/caf%C3%A9%20&%20co.txt')).body.toString(), 'a')
  assert.equal((await site.found('/100%25.txt')).body.toString(), 'b')
})

const lifetimes: ReadonlyArray<readonly [name: string, isImmutable: boolean]> = [
  ['app.0a1b2c3d.js', true],
  ['app-0a1b2c3d4e5f.css', true],
  ['assets/app.0a1b2c3d.js.map', true],
  ['font.B3kd_9Zq.woff2', true],
  ['a.b.0123456789abcdef0123456789abcdef.png', true],
  ['app.js', false],
  ['jquery.bootstrap.js', false],
  ['app.production.min.js', false],
  ['report-20240101.pdf', false],
  ['v.deadbeef.js', false],
  ['app.0a1b2c3.js', false],
  ['0a1b2c3d.js', false],
  ['app.0a1b2c3d', false],
  ['lib-Version2.js', false],
  ['x.FIVEFIVE5.js', false],
]
for (const [name, isImmutable] of lifetimes) {
  test(`${isImmutable ? 'trusts' : 'does not trust'} ${name} to keep its content`, () => {
    assert.equal(cacheControlOf(name), isImmutable ? 'public, max-age=31536000, immutable' : 'public, max-age=0, must-revalidate')
  })
}

test('answers conditions with 304 and 412, for any file size', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'a', 'large.txt': 'x'.repeat(100_000) })
  for (const path of ['/a.txt', '/large.txt']) {
    const { head } = await site.found(path)
    const etag = fieldOf(head, 'etag') ?? ''
    const fresh = await site.found(path, { headers: { 'if-none-match': etag } })
    assert.equal(fresh.head.status, 304)
    assert.deepEqual(
      fresh.head.headers.map(([name]) => name),
      ['etag', 'last-modified', 'cache-control'],
    )
    assert.equal(fresh.body.byteLength, 0)
    const since = fieldOf(head, 'last-modified') ?? ''
    assert.equal((await site.found(path, { headers: { 'if-modified-since': since } })).head.status, 304)
    assert.equal((await site.found(path, { headers: { 'if-match': '"other"' } })).head.status, 412)
    assert.equal((await site.found(path, { headers: { 'if-match': etag } })).head.status, 200)
  }
})

test('HEAD has the fields of GET, and no range', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'abc', 'large.txt': 'x'.repeat(100_000) })
  for (const path of ['/a.txt', '/large.txt']) {
    const get = await site.found(path)
    const head = await site.found(path, { method: 'HEAD', headers: { range: 'bytes=0-0' } })
    assert.deepEqual(head.head, get.head)
  }
})

const br = { 'accept-encoding': 'gzip, br' }

test('sends the precompressed sibling that the client likes best', async (t) => {
  const site = new StaticSite(t, { 'a.js': 'plain', 'a.js.br': 'BROTLI', 'a.js.gz': 'GZ', 'a.js.zst': 'ZST' })
  const got = async (field?: string) => {
    const { head, body } = await site.found('/a.js', field === undefined ? {} : { headers: { 'accept-encoding': field } })
    assert.equal(fieldOf(head, 'vary'), 'Accept-Encoding')
    assert.equal(fieldOf(head, 'content-type'), 'text/javascript; charset=utf-8')
    return [body.toString(), fieldOf(head, 'content-encoding')]
  }
  assert.deepEqual(await got(), ['plain', undefined])
  assert.deepEqual(await got('gzip, br'), ['BROTLI', 'br'])
  assert.deepEqual(await got('gzip, zstd'), ['ZST', 'zstd'])
  assert.deepEqual(await got('gzip'), ['GZ', 'gzip'])
  assert.deepEqual(await got('deflate'), ['plain', undefined])
})

test('each form has a tag of its own, and 304 goes by the form', async (t) => {
  const site = new StaticSite(t, { 'a.js': 'plain', 'a.js.br': 'BROTLI' })
  const plainTag = fieldOf((await site.found('/a.js')).head, 'etag') ?? ''
  const brTag = fieldOf((await site.found('/a.js', { headers: br })).head, 'etag') ?? ''
  assert.notEqual(plainTag, brTag)
  assert.equal((await site.found('/a.js', { headers: { ...br, 'if-none-match': brTag } })).head.status, 304)
  assert.equal((await site.found('/a.js', { headers: { ...br, 'if-none-match': plainTag } })).head.status, 200)
})

test('does not send a sibling that is older than its file, leads outside, or belongs to a type that is compressed already', async (t) => {
  const site = new StaticSite(t, { 'a.js': 'new', 'a.js.br': 'old', 'a.png': 'png', 'a.png.br': 'x' })
  site.touch('a.js.br', 1_600_000_000)
  const { head, body } = await site.found('/a.js', { headers: br })
  assert.deepEqual([body.toString(), fieldOf(head, 'vary')], ['new', undefined])
  assert.equal((await site.found('/a.png', { headers: br })).body.toString(), 'png')
})

test('serves a file by its absolute path, with the given type', async (t) => {
  const site = new StaticSite(t, { 'icon.dat': 'icon' })
  const exchange = new RecordedExchange()
  site.files.serveFile(exchange, site.pathOf('icon.dat'), 'image/png')
  const { head, body } = await exchange.response()
  assert.deepEqual([head.status, fieldOf(head, 'content-type'), body.toString()], [200, 'image/png', 'icon'])
  const gone = new RecordedExchange()
  site.files.serveFile(gone, site.pathOf('gone.dat'), 'image/png')
  assert.equal((await gone.response()).head.status, 404)
})

test('an empty file is an empty answer', async (t) => {
  const site = new StaticSite(t, { 'a.txt': '' })
  const { head, body } = await site.found('/a.txt', { headers: { range: 'bytes=-5' } })
  assert.deepEqual([head.status, body.byteLength], [200, 0])
})

test('the memory for small files is bounded by bytes and drops the least recently used', () => {
  const cache = new SmallFileCache(10_000)
  for (let i = 0; i < 100; i++) {
    cache.set(`file-${i}`, { state: 's', content: Buffer.alloc(1000) })
    assert.notEqual(cache.get('file-0', 's'), undefined, 'the one in use stays')
  }
  assert.equal(cache.size, 6)
  assert.ok(cache.bytes <= 10_000)
  cache.set('huge', { state: 's', content: Buffer.alloc(20_000) })
  assert.equal(cache.get('huge', 's'), undefined)
  assert.equal(cache.get('file-99', 'other'), undefined, 'another state is a miss')
  assert.equal(cache.size, 5)
  for (const name of ['file-0', 'file-95', 'file-96', 'file-97', 'file-98', 'file-99']) cache.delete(name)
  assert.deepEqual([cache.size, cache.bytes], [0, 0])
})

test('a settled small file is read once and then kept in memory', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'kept' })
  const realNow = Date.now
  t.mock.method(Date, 'now', () => realNow() + 5000)
  const first = new RecordedExchange()
  const second = new RecordedExchange()
  const bodies: Uint8Array[] = []
  for (const exchange of [first, second]) {
    t.mock.method(exchange, 'respond', (_head: unknown, body: Uint8Array) => bodies.push(body))
    await site.files.serve(exchange, '/a.txt')
  }
  assert.equal(bodies.length, 2)
  assert.equal(bodies[0]?.buffer, bodies[1]?.buffer, 'both are views of one buffer')
})
