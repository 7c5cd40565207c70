import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type EntryStore, responseKey } from '@svc/cache'
import { tempDir } from '@svc/testkit'
import { factsOf } from '../../cache/test/entries.ts'
import { openStore, roomy } from '../../cache/test/store/store-fixture.ts'
import { type PageSelection, storedPages } from '../src/isr/stored-pages.ts'

const narrow = { query: false, host: false }

async function filled(t: TestContext): Promise<EntryStore> {
  const store = await openStore(t, roomy(tempDir(t, 'stored-pages')))
  const put = (label: string, path: string, key = responseKey(label, path, narrow, '', ''), siteTags: string[] = []) =>
    store.put(key, factsOf({ label, path, siteTags }), Buffer.from('x'))
  await put('shop', '/')
  await put('shop', '/a', undefined, ['news'])
  await put('shop', '/a/b')
  await put('shop', '/find', responseKey('shop', '/find', { query: true, host: true }, 'q=1', 'https://shop.test:8443'))
  await put('shop', '/long', responseKey('shop', '/long', { query: true, host: false }, 'q'.repeat(2_000), ''))
  await put('blog', '/a', undefined, ['news'])
  await store.put('shop\0data\0x', factsOf({ kind: 'data', label: 'shop', path: '', siteTags: ['news'] }), Buffer.from('x'))
  return store
}

test('stored pages are found by label, tag and exact path, with query and origin; not data, nor keys that were cut', async (t) => {
  const store = await filled(t)
  const both = ['shop', 'blog']
  const cases: [selection: PageSelection, found: string[]][] = [
    [{ labels: ['shop'] }, ['shop /', 'shop /a', 'shop /a/b', 'shop /find?q=1 https://shop.test:8443']],
    [{ labels: both, tags: ['news'] }, ['blog /a', 'shop /a']],
    [{ labels: both, tags: ['route:blog:news'] }, ['blog /a']],
    [{ labels: ['shop'], tags: ['route:blog:news'] }, []],
    [{ labels: both, paths: ['/a/'] }, ['blog /a', 'shop /a']],
    [{ labels: ['shop'], paths: ['/', '/none'], tags: ['news'] }, ['shop /', 'shop /a']],
    [{ labels: both, paths: [] }, []],
  ]
  for (const [selection, found] of cases) {
    const pages = await storedPages(store, selection)
    const texts = pages.map(({ label, path, query, origin }) => `${label} ${path}${query && `?${query}`} ${origin ?? ''}`.trim())
    assert.deepEqual(texts.sort(), found, JSON.stringify(selection))
  }
})

test('of many stored pages a bounded number is found, with a bounded number of reads', async (t) => {
  const store = await openStore(t, roomy(tempDir(t, 'many-pages')))
  const paths = Array.from({ length: 1_200 }, (_, index) => `/${index}`)
  await Promise.all(
    paths.map((path) => store.put(responseKey('shop', path, narrow, '', ''), factsOf({ label: 'shop', path }), Buffer.from('x'))),
  )
  let reads = 0
  const counted: Pick<EntryStore, 'list'> = {
    list: (query) => {
      reads++
      assert.ok(query.limit <= 100)
      return store.list(query)
    },
  }
  assert.equal((await storedPages(counted, { labels: ['shop'] })).length, 1_000)
  assert.equal(reads, 10)
  reads = 0
  const many = Array.from({ length: 3_000 }, (_, index) => `label-${index}`)
  assert.deepEqual(await storedPages(counted, { labels: many, paths: ['/1'] }), [])
  assert.equal(reads, 2_000)
})
