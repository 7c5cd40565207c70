import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { CacheStore, EntryFacts, Purge, PurgeScope } from '../src/index.ts'
import { factsOf, purgeOf } from './entries.ts'

/** Opens an empty store that goes away with the test. */
export type OpenStore = (t: TestContext) => Promise<CacheStore>

const body = Buffer.from('<p>hello</p>')

async function putAll(store: CacheStore, entries: Record<string, EntryFacts>): Promise<void> {
  for (const [key, facts] of Object.entries(entries)) assert.equal(await store.put(key, facts, body), true)
}

function keysIn(store: CacheStore, entries: Record<string, EntryFacts>): string[] {
  return Object.keys(entries).filter((key) => store.get(key) !== undefined)
}

/** The contract of every store. */
export function cacheStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: entries`, () => {
    it('misses a key that was never put', async (t) => {
      const store = await open(t)
      assert.equal(store.get('nothing'), undefined)
      assert.equal(store.variance('blog', '/nothing'), undefined)
    })

    it('gives back facts and body as they were put', async (t) => {
      const store = await open(t)
      const facts = factsOf({
        path: '/grüße',
        siteTags: ['posts', 'größe'],
        ttlMs: null,
        seq: 7,
        status: 404,
        headers: [
          ['content-type', 'text/plain'],
          ['link', '</a>; rel=preload'],
          ['link', '</ü>; rel=preload'],
        ],
      })
      const bytes = Buffer.from([0, 255, 10, 13, 0, 200])
      assert.equal(await store.put('blog\0/grüße', facts, bytes), true)
      const { body: stored, ...rest } = store.get('blog\0/grüße') ?? assert.fail('not stored')
      assert.deepEqual(rest, facts)
      assert.deepEqual(Buffer.from(stored), bytes)
    })

    it('keeps an empty body and one of several megabytes', async (t) => {
      const store = await open(t)
      const large = Buffer.alloc(3_000_001, 'abcdefg')
      assert.equal(await store.put('empty', factsOf(), Buffer.alloc(0)), true)
      assert.equal(await store.put('large', factsOf({ kind: 'data', path: '' }), large), true)
      assert.equal(store.get('empty')?.body.byteLength, 0)
      assert.ok(Buffer.from(store.get('large')?.body ?? []).equals(large))
    })

    it('does not change a returned entry when another is stored later in the turn', async (t) => {
      const store = await open(t)
      await store.put('a', factsOf(), Buffer.from('first'))
      await store.put('b', factsOf(), Buffer.from('other'))
      const first = store.get('a') ?? assert.fail('not stored')
      store.get('b')
      assert.equal(Buffer.from(first.body).toString(), 'first')
    })

    it('overwrites an entry with its tags', async (t) => {
      const store = await open(t)
      await store.put('a', factsOf({ siteTags: ['old'] }), Buffer.from('one'))
      await store.put('a', factsOf({ siteTags: ['new'], seq: 1 }), Buffer.from('two'))
      assert.equal(await store.purge(purgeOf(9, { kind: 'tags', tags: ['route:blog:old'] })), 0)
      assert.equal(Buffer.from(store.get('a')?.body ?? []).toString(), 'two')
      assert.equal(await store.purge(purgeOf(10, { kind: 'tags', tags: ['route:blog:new'] })), 1)
    })

    it('keeps keys and tags of any length apart', async (t) => {
      const store = await open(t)
      const path = `/${'long/'.repeat(400)}`
      await store.put(`blog\0${path}a`, factsOf({ path: `${path}a` }), Buffer.from('a'))
      await store.put(`blog\0${path}b`, factsOf({ path: `${path}b` }), Buffer.from('b'))
      assert.equal(Buffer.from(store.get(`blog\0${path}a`)?.body ?? []).toString(), 'a')
      assert.equal(await store.purge(purgeOf(1, { kind: 'tags', tags: [`route:blog:${path}a`] })), 1)
      assert.deepEqual([store.get(`blog\0${path}a`), store.get(`blog\0${path}b`)?.path], [undefined, `${path}b`])
    })
  })
  purgeContract(name, open)
  varianceContract(name, open)
}

function entriesOfTwoSites(): Record<string, EntryFacts> {
  return {
    hello: factsOf({ path: '/blog/hello', pattern: '/blog/[slug]', siteTags: ['posts'] }),
    query: factsOf({ path: '/blog/hello', pattern: '/blog/[slug]', isQueryKeyed: true }),
    slash: factsOf({ path: '/blog/world/', pattern: '/blog/[slug]', siteTags: ['posts', 'w*'] }),
    hosted: factsOf({ path: '/about', pattern: '/about', host: 'a.example' }),
    data: factsOf({ kind: 'data', path: '', tags: ['route:blog:posts'] }),
    untagged: factsOf({ kind: 'data', path: '', tags: [] }),
    shop: factsOf({ label: 'shop', path: '/blog/hello', pattern: '/blog/[slug]', siteTags: ['posts'] }),
  }
}

const scopes: readonly { readonly title: string; readonly scope: PurgeScope; readonly taken: readonly string[] }[] = [
  { title: 'a tag of one site', scope: { kind: 'tags', tags: ['route:blog:posts'] }, taken: ['hello', 'slash', 'data'] },
  { title: 'the tag of a path', scope: { kind: 'tags', tags: ['route:blog:/blog/world'] }, taken: ['slash'] },
  { title: 'a tag that nothing carries', scope: { kind: 'tags', tags: ['route:blog:post'] }, taken: [] },
  {
    title: 'whole sites',
    scope: { kind: 'labels', labels: ['blog', 'none'] },
    taken: ['hello', 'query', 'slash', 'hosted', 'data', 'untagged'],
  },
  { title: 'hosts', scope: { kind: 'hosts', hosts: ['a.example'] }, taken: ['hosted'] },
  {
    title: 'paths on all hosts',
    scope: { kind: 'paths', paths: ['/blog/hello/'], hosts: null },
    taken: ['hello', 'query', 'shop'],
  },
  {
    title: 'paths on one host',
    scope: { kind: 'paths', paths: ['/about', '/blog/hello'], hosts: ['a.example'] },
    taken: ['hosted'],
  },
  { title: 'prefixes', scope: { kind: 'prefixes', prefixes: ['/ab'], hosts: ['a.example'] }, taken: ['hosted'] },
  { title: 'a prefix on another host', scope: { kind: 'prefixes', prefixes: ['/'], hosts: ['b.example'] }, taken: [] },
  {
    title: 'a pattern over paths',
    scope: { kind: 'pattern', pattern: 'route:blog:/blog/*', labels: null },
    taken: ['hello', 'query', 'slash'],
  },
  {
    title: 'a pattern of all sites, for one label',
    scope: { kind: 'pattern', pattern: 'route:*:posts', labels: ['shop'] },
    taken: ['shop'],
  },
  {
    title: 'a pattern with an escaped star',
    scope: { kind: 'pattern', pattern: 'route:blog:w\\*', labels: null },
    taken: ['slash'],
  },
  {
    title: 'a pattern of a whole site, with what carries no tag',
    scope: { kind: 'pattern', pattern: 'route:blog:*', labels: null },
    taken: ['hello', 'query', 'slash', 'hosted', 'data', 'untagged'],
  },
  {
    title: 'the pattern of everything',
    scope: { kind: 'pattern', pattern: '*', labels: null },
    taken: ['hello', 'query', 'slash', 'hosted', 'data', 'untagged', 'shop'],
  },
  {
    title: 'everything',
    scope: { kind: 'everything' },
    taken: ['hello', 'query', 'slash', 'hosted', 'data', 'untagged', 'shop'],
  },
]

function purgeContract(name: string, open: OpenStore): void {
  describe(`${name}: purges`, () => {
    for (const { title, scope, taken } of scopes) {
      it(`drops by ${title} and leaves the rest`, async (t) => {
        const store = await open(t)
        const entries = entriesOfTwoSites()
        await putAll(store, entries)
        assert.equal(await store.purge(purgeOf(1, scope)), taken.length)
        assert.deepEqual(
          keysIn(store, entries),
          Object.keys(entries).filter((key) => !taken.includes(key)),
        )
      })

      it(`drops by ${title} only entries of the labels to which the purge is bound`, async (t) => {
        const store = await open(t)
        const entries = entriesOfTwoSites()
        await putAll(store, entries)
        const own = taken.filter((key) => entries[key]?.label === 'shop')
        assert.equal(await store.purge(purgeOf(1, scope, { labels: ['shop'] })), own.length)
        assert.deepEqual(
          keysIn(store, entries),
          Object.keys(entries).filter((key) => !own.includes(key)),
        )
      })

      it(`marks by ${title} and leaves the rest fresh`, async (t) => {
        const store = await open(t)
        const entries = entriesOfTwoSites()
        await putAll(store, entries)
        assert.equal(await store.purge(purgeOf(1, scope, { mode: 'stale' })), taken.length)
        const marked = Object.keys(entries).filter((key) => store.get(key)?.isMarkedStale === true)
        assert.deepEqual(marked.sort(), [...taken].sort())
        assert.deepEqual(keysIn(store, entries), Object.keys(entries))
      })
    }

    it('takes an entry once when several scopes match it', async (t) => {
      const store = await open(t)
      await putAll(store, entriesOfTwoSites())
      const scopes: PurgeScope[] = [
        { kind: 'tags', tags: ['route:shop:posts', 'route:shop:/blog/[slug]'] },
        { kind: 'labels', labels: ['shop'] },
      ]
      assert.equal(await store.purge(purgeOf(1, { kind: 'everything' }, { scopes })), 1)
    })

    it('leaves entries whose maker knew the purge', async (t) => {
      const store = await open(t)
      await putAll(store, { old: factsOf({ seq: 4 }), knowing: factsOf({ seq: 5 }), newer: factsOf({ seq: 6 }) })
      assert.equal(await store.purge(purgeOf(5, { kind: 'everything' })), 1)
      assert.deepEqual([store.get('old')?.seq, store.get('knowing')?.seq, store.get('newer')?.seq], [undefined, 5, 6])
    })

    it('does nothing when the purge is not about this layer', async (t) => {
      const store = await open(t)
      await putAll(store, { a: factsOf() })
      assert.equal(await store.purge(purgeOf(1, { kind: 'everything' }, { layers: ['l0'] })), 0)
      assert.notEqual(store.get('a'), undefined)
    })

    it('stores a purged key again, and purges it again', async (t) => {
      const store = await open(t)
      const facts = factsOf({ siteTags: ['posts'] })
      const scope: PurgeScope = { kind: 'tags', tags: ['route:blog:posts'] }
      await store.put('a', facts, body)
      assert.equal(await store.purge(purgeOf(1, scope)), 1)
      assert.equal(await store.purge(purgeOf(2, scope)), 0)
      await store.put('a', { ...facts, seq: 2 }, body)
      assert.equal(store.get('a')?.seq, 2)
      assert.equal(await store.purge(purgeOf(3, scope)), 1)
      assert.equal(store.get('a'), undefined)
    })

    it('counts an entry that is marked twice, and clears the mark with a new put', async (t) => {
      const store = await open(t)
      await store.put('a', factsOf(), body)
      const scope: PurgeScope = { kind: 'labels', labels: ['blog'] }
      assert.equal(await store.purge(purgeOf(1, scope, { mode: 'stale' })), 1)
      assert.equal(await store.purge(purgeOf(2, scope, { mode: 'stale' })), 1)
      await store.put('a', factsOf({ seq: 2 }), body)
      assert.equal(store.get('a')?.isMarkedStale, false)
    })
  })
}

function varianceContract(name: string, open: OpenStore): void {
  describe(`${name}: variance`, () => {
    it('adds to what is known and drops entries of the narrower key', async (t) => {
      const store = await open(t)
      await putAll(store, { narrow: factsOf(), wide: factsOf({ isQueryKeyed: true }), other: factsOf({ path: '/other' }) })
      await store.noteReads('blog', '/hello', { query: true, host: false }, 0)
      assert.deepEqual([store.get('narrow'), store.get('wide')?.isQueryKeyed], [undefined, true])
      assert.notEqual(store.get('other'), undefined)
      await store.noteReads('blog', '/hello', { query: false, host: true }, 0)
      assert.deepEqual(store.variance('blog', '/hello'), { query: true, host: true, isOutdated: false })
      assert.equal(store.get('wide'), undefined)
      assert.equal(store.variance('shop', '/hello'), undefined)
    })

    const changed: Partial<Purge> = { mode: 'stale', changedCode: ['blog'] }

    it('starts over after a code change, and drops entries found under longer keys', async (t) => {
      const store = await open(t)
      await store.noteReads('blog', '/hello', { query: true, host: true }, 0)
      await putAll(store, { wide: factsOf({ isQueryKeyed: true, host: 'a.test' }), other: factsOf({ path: '/other' }) })
      await store.purge({ ...purgeOf(3, { kind: 'tags', tags: ['route:blog:/none'] }), ...changed })
      assert.deepEqual(store.variance('blog', '/hello'), { query: true, host: true, isOutdated: true })
      assert.notEqual(store.get('wide'), undefined, 'it is served until there is a new one')
      // A render from before the change adds nothing to what comes after it.
      await store.noteReads('blog', '/hello', { query: true, host: true }, 2)
      assert.deepEqual(store.variance('blog', '/hello'), { query: true, host: true, isOutdated: true })
      await store.noteReads('blog', '/hello', { query: false, host: true }, 3)
      assert.deepEqual(store.variance('blog', '/hello'), { query: false, host: true, isOutdated: false })
      assert.equal(store.get('wide'), undefined)
      assert.notEqual(store.get('other'), undefined)
      await store.noteReads('blog', '/hello', { query: true, host: false }, 3)
      assert.deepEqual(store.variance('blog', '/hello'), { query: true, host: true, isOutdated: false })
    })

    it('has no record any more where the new code reads nothing', async (t) => {
      const store = await open(t)
      await store.noteReads('blog', '/hello', { query: true, host: false }, 0)
      await putAll(store, { wide: factsOf({ isQueryKeyed: true }) })
      await store.purge({ ...purgeOf(1, { kind: 'everything' }), ...changed })
      await store.noteReads('blog', '/hello', { query: false, host: false }, 1)
      assert.deepEqual([store.variance('blog', '/hello'), store.get('wide')], [undefined, undefined])
    })

    it('keeps entries where the new code reads the same, and records of other labels', async (t) => {
      const store = await open(t)
      await store.noteReads('blog', '/hello', { query: true, host: false }, 0)
      await store.noteReads('shop', '/hello', { query: true, host: false }, 0)
      await putAll(store, { wide: factsOf({ isQueryKeyed: true }) })
      await store.purge({ ...purgeOf(1, { kind: 'everything' }), ...changed })
      await store.noteReads('blog', '/hello', { query: true, host: false }, 1)
      assert.equal(store.variance('blog', '/hello')?.isOutdated, false)
      assert.equal(store.get('wide')?.isMarkedStale, true)
      assert.equal(store.variance('shop', '/hello')?.isOutdated, false)
    })

    it('keeps the record when an entry of the wider key is written again', async (t) => {
      const store = await open(t)
      await store.noteReads('blog', '/hello', { query: true, host: false }, 0)
      await store.put('wide', factsOf({ isQueryKeyed: true }), body)
      await store.put('wide', factsOf({ isQueryKeyed: true, seq: 1 }), body)
      assert.deepEqual(store.variance('blog', '/hello'), { query: true, host: false, isOutdated: false })
    })
  })
}
