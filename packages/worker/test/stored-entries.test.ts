import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type EntryStore, ProxyStore, responseKey, uriTag } from '@svc/cache'
import { systemClock } from '@svc/core'
import { tempDir } from '@svc/testkit'
import { factsOf } from '../../cache/test/entries.ts'
import { openStore, roomy } from '../../cache/test/store/store-fixture.ts'
import { storedEntries } from '../src/control/stored-entries.ts'

const narrow = { query: false, host: false }
const labels = ['shop', 'blog']
const noL0 = { list: () => assert.fail(), find: () => assert.fail() }

async function open(t: TestContext) {
  const dir = tempDir(t, 'entries')
  const isr = await openStore(t, roomy(dir))
  const proxy = await ProxyStore.open({ cacheDir: dir, maxBytes: 64 << 20, clock: systemClock, onProblem: assert.ifError })
  t.after(() => proxy.entries.close())
  const put = (label: string, path: string, siteTags: string[] = []) =>
    isr.put(responseKey(label, path, narrow, '', ''), factsOf({ label, path, siteTags, createdAt: 0 }), Buffer.from('body'))
  return { isr, proxy, put, entries: storedEntries({ isr: () => isr, proxy: () => proxy, l0: noL0, labels: () => labels }) }
}

test('pages are listed by label, tag and prefix, in pages that a cursor continues', async (t) => {
  const { isr, put, entries } = await open(t)
  for (const label of labels) for (let index = 0; index < 30; index++) await put(label, `/${index}`, ['all', `n${index}`])
  await isr.put('shop\0data\0x', factsOf({ kind: 'data', label: 'shop', path: '' }), Buffer.from('x'))
  const found = async (query: { labels?: readonly string[]; tag?: string; prefix?: string }, limit: number) => {
    const all: string[] = []
    for (let cursor: string | undefined, pages = 0; ; pages++) {
      const page = (await entries.list({ layer: 'isr', labels: undefined, ...query, limit, cursor })) ?? assert.fail()
      assert.ok(page.entries.length <= limit && pages < 100)
      all.push(...page.entries.map(({ label, path }) => label + path))
      if (page.cursor === null) return all.sort()
      cursor = page.cursor
    }
  }
  for (const limit of [7, 500]) {
    assert.equal((await found({}, limit)).length, 60)
    assert.equal((await found({ labels: ['shop'] }, limit)).length, 30)
    assert.deepEqual(await found({ labels: ['shop'], prefix: '/2' }, limit), (await found({ prefix: '/2' }, limit)).slice(11))
    assert.deepEqual(await found({ tag: 'n3' }, limit), ['blog/3', 'shop/3'])
    assert.deepEqual(await found({ tag: 'route:shop:n3' }, limit), ['shop/3'])
    assert.deepEqual(await found({ tag: 'route:shop:n3', labels: ['blog'] }, limit), [])
    assert.equal((await found({ tag: 'all' }, limit)).length, 60)
  }
})

test('a page reads a bounded number of entries, whatever the store holds, and a made-up cursor leads to no other label', async (t) => {
  const { isr, put, entries } = await open(t)
  const many = Array.from({ length: 2_600 }, (_, index) => put('blog', `/${index}`))
  await Promise.all([...many, put('shop', '/own')])
  let looked = 0
  const list = isr.list.bind(isr)
  isr.list = (query) => {
    looked += query.limit
    return list(query)
  }
  const page = (await entries.list({ layer: 'isr', labels: ['shop'], prefix: '/', limit: 500 })) ?? assert.fail()
  assert.ok(looked <= 2_000, String(looked))
  assert.notEqual(page.cursor, null)
  for (const cursor of [
    '0.AAAA',
    '0.!!',
    'x',
    '-1.',
    '99.',
    `0.${Buffer.from('\u0001blog').toString('base64url')}`,
    '0'.repeat(999),
  ]) {
    const cut = await entries.list({ layer: 'isr', labels: ['shop'], limit: 500, cursor })
    assert.ok(
      cut?.entries.every(({ label }) => label === 'shop'),
      cursor,
    )
  }
})

test('an entry is found with its times, only under its labels, and its body is cut', async (t) => {
  const { put, proxy, entries } = await open(t)
  await put('shop', '/a')
  const key = responseKey('shop', '/a', narrow, '', '')
  const entry = (await entries.find('isr', key)) ?? assert.fail()
  assert.deepEqual(
    [entry.label, entry.path, entry.host, entry.query, entry.status, entry.uri],
    ['shop', '/a', null, null, 200, undefined],
  )
  assert.deepEqual(
    [entry.stored_at, entry.fresh_until, entry.stale_until],
    ['1970-01-01T00:00:00.000Z', '1970-01-01T00:01:00.000Z', '1970-01-01T01:01:00.000Z'],
  )
  assert.equal(await entries.find('isr', key, ['blog']), undefined)
  assert.equal(await entries.find('proxy', key), undefined)
  assert.equal(Buffer.from((await entries.body('isr', key, 3)) ?? []).toString(), 'bod')
  assert.equal(await entries.body('isr', 'gone', 3), undefined)

  const uri = 'http://a.test/x?q=1'
  const facts = factsOf({ label: 'shop', path: '/x', host: 'a.test', tags: [uriTag(uri)] })
  const body = await proxy.files.begin('shop')
  await body.write(Buffer.from('long body'), 0)
  const bodyFile = await body.commit('of upstream')
  await body.close()
  assert.ok(await proxy.entries.put('of upstream', { ...facts, bodyFile }, new Uint8Array(0)))
  const found = (await entries.find('proxy', 'of upstream')) ?? assert.fail()
  assert.deepEqual([found.host, found.query, found.uri, found.tags], ['a.test', 'q=1', uri, []])
  assert.ok(found.bytes > 9)
  assert.equal(Buffer.from((await entries.body('proxy', 'of upstream', 4)) ?? []).toString(), 'long')
  assert.deepEqual(entries.usage(['shop']).isr.entries, 1)
})

test('without stores there is nothing', async () => {
  const entries = storedEntries({
    isr: (): EntryStore | undefined => undefined,
    proxy: () => undefined,
    l0: noL0,
    labels: () => labels,
  })
  assert.deepEqual(await entries.list({ layer: 'proxy', labels: undefined, limit: 5 }), {
    entries: [],
    cursor: null,
    missing: [],
  })
  assert.deepEqual(entries.usage(labels), { isr: { entries: 0, bytes: 0 }, proxy: { entries: 0, bytes: 0 } })
})

test('responses in L0 are asked of all workers, under the labels and full tags that the caller may see', async () => {
  const asked: unknown[] = []
  const response = {
    digest: 'd',
    key: 'bpa.test/x?q',
    label: 'shop',
    host: 'a.test',
    path: '/x',
    query: 'q',
    tags: ['route:shop:/x'],
    status: 200,
    bytes: 7,
    storedAt: 0,
    freshUntil: 60_000,
    hits: 4,
  }
  const l0 = {
    list: async (query: object) => {
      asked.push(query)
      return { entries: [response], cursor: 'next', missing: ['w2'] }
    },
    find: async (key: string, maxBytes: number) =>
      key === response.key ? { entry: response, body: Buffer.from('body').subarray(0, maxBytes) } : undefined,
  }
  const entries = storedEntries({ isr: () => undefined, proxy: () => undefined, l0, labels: () => labels })
  const all = await entries.list({ layer: 'l0', labels: undefined, limit: 5 })
  const { digest: _, storedAt: _at, freshUntil: _until, ...facts } = response
  const until = '1970-01-01T00:01:00.000Z'
  const times = { stored_at: '1970-01-01T00:00:00.000Z', fresh_until: until, stale_until: until }
  const shown = { ...facts, ...times, layer: 'l0', uri: undefined }
  assert.deepEqual(all, { entries: [shown], cursor: 'next', missing: ['w2'] })
  await entries.list({ layer: 'l0', labels: ['shop'], tag: 'news', prefix: '/x', limit: 5, cursor: 'x'.repeat(10_000) })
  await entries.list({ layer: 'l0', labels: undefined, tag: 'route:blog:/b/', limit: 5, cursor: 'd' })
  const none = { labels: undefined, tags: undefined, prefix: undefined }
  assert.deepEqual(asked, [
    { ...none, limit: 5, after: '' },
    { labels: ['shop'], tags: ['route:shop:news'], prefix: '/x', limit: 5, after: 'x'.repeat(64) },
    { ...none, tags: ['route:blog:/b'], limit: 5, after: 'd' },
  ])
  assert.deepEqual(await entries.find('l0', response.key), shown)
  assert.equal(await entries.find('l0', response.key, ['blog']), undefined)
  assert.equal(await entries.find('l0', 'gone'), undefined)
  assert.equal(Buffer.from((await entries.body('l0', response.key, 2)) ?? []).toString(), 'bo')
})
