import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  type EntryFacts,
  type LeaseDesk,
  type LeaseOutcome,
  PURGE,
  PurgeLedger,
  type PurgeOrder,
  purgeTargets,
  responseKey,
  responseTags,
  SharedCache,
  SharedLeases,
} from '@svc/cache'
import { systemClock } from '@svc/core'
import { RedisClient } from '@svc/redis'
import { MemoryStore, type RedisPeer, requireProgram, startRedis, waitFor } from '@svc/testkit'

const NARROW = { query: false, host: false }
const KEY = responseKey('blog', '/a', NARROW, '', '')

/** An instance with one process: its leases are always free. */
class Instance {
  readonly store = Object.assign(new MemoryStore(), { refresh: () => undefined })
  readonly ledger = new PurgeLedger()
  readonly counts = { hits: { value: 0 }, misses: { value: 0 } }
  readonly leases: SharedLeases
  readonly ended: LeaseOutcome[] = []
  #ids = 0

  constructor(redis: RedisClient) {
    const cache = new SharedCache({
      commands: redis,
      prefix: 'test:',
      layer: 'isr',
      ttlMs: 300_000,
      store: this.store,
      ledger: this.ledger,
      clock: systemClock,
      counts: this.counts,
    })
    const desk: LeaseDesk = {
      lease: async () => ({ granted: true, id: ++this.#ids }),
      leaseEnded: (_id, outcome) => this.ended.push(outcome),
      isHeld: async () => false,
    }
    this.leases = new SharedLeases(desk, cache, '')
  }

  /** Stores an entry as a fill does that has the lease, and shares it. Resolves with the id of the lease. */
  async fill(text: string, facts: Partial<EntryFacts> = {}, key = KEY): Promise<void> {
    await this.store.put(key, factsOf(facts), Buffer.from(text))
    this.leases.share(KEY, key)
  }

  /** The text of an entry, after its lease was requested: what another instance has stored is found. */
  async textAfterLease(key = KEY): Promise<string | undefined> {
    const reply = await this.leases.lease(key)
    if (reply.granted) this.leases.leaseEnded(reply.id, 'failed')
    const entry = this.store.get(key)
    return entry && Buffer.from(entry.body).toString()
  }
}

function factsOf(facts: Partial<EntryFacts> = {}): EntryFacts {
  return {
    kind: 'response',
    label: 'blog',
    path: '/a',
    host: '',
    isQueryKeyed: false,
    tags: responseTags('blog', '/a', '/[slug]', ['posts']),
    createdAt: Date.now() - 5_000,
    ttlMs: 60_000,
    swrMs: 60_000,
    isMarkedStale: false,
    seq: 0,
    status: 200,
    headers: [['content-type', 'text/html']],
    ...facts,
  }
}

interface World {
  readonly peer: RedisPeer
  readonly redis: RedisClient
  readonly a: Instance
  readonly b: Instance
  /** Purges the shared cache as a master does. */
  purge(order: Partial<PurgeOrder>): Promise<void>
  keys(): Promise<string[]>
}

/** @param deadlineMs of commands: a busy machine must not look like a Redis that is away */
async function world(t: TestContext, args: readonly string[] = [], deadlineMs = 30_000): Promise<World | undefined> {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return undefined
  const peer = await startRedis(t, program, { args })
  const redis = new RedisClient({ url: peer.url, connections: 1, name: 'test', clock: systemClock, deadlineMs })
  t.after(() => redis.close())
  await redis.ready(10_000)
  return {
    peer,
    redis,
    a: new Instance(redis),
    b: new Instance(redis),
    async purge(order) {
      const targets = purgeTargets({ layers: ['isr'], scopes: [], mode: 'drop', ...order }, 'test:', ['blog', 'shop'])
      for (const { key, digests } of targets) await redis.script(PURGE, [key], digests ?? [])
    },
    keys: async () => ((await redis.command('KEYS', ['*'])) as Buffer[]).map(String).sort(),
  }
}

/** The entry of instance A is in Redis. */
async function shared(world: World, text = 'one'): Promise<void> {
  const { granted, id } = await world.a.leases.lease(KEY)
  assert.equal(granted, true)
  await world.a.fill(text)
  world.a.leases.leaseEnded(id, 'stored')
  await waitFor('the entry is in Redis', async () => (await world.keys()).some((key) => key.includes(':entry:')))
}

describe('the shared cache', () => {
  test('gives an instance the entry of another one, and its age goes on', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    const reply = await w.b.leases.lease(KEY)
    assert.deepEqual(reply, { granted: false, id: 0, outcome: 'stored' })
    const [made, got] = [w.a.store.get(KEY), w.b.store.get(KEY)]
    assert.equal(Buffer.from(got?.body ?? []).toString(), 'one')
    assert.deepEqual([got?.createdAt, got?.tags, got?.headers], [made?.createdAt, made?.tags, made?.headers])
    assert.deepEqual([w.b.counts.hits.value, w.b.counts.misses.value, w.a.counts.misses.value], [1, 0, 1])
    assert.deepEqual(w.b.ended, ['stored'], 'the lease of its own instance is given back')
  })

  test('lets one instance fill a key: the other one waits for the entry', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const { id } = await w.a.leases.lease(KEY)
    const waiting = w.b.textAfterLease()
    await w.a.fill('one')
    w.a.leases.leaseEnded(id, 'stored')
    assert.equal(await waiting, 'one')
    assert.equal(w.b.counts.misses.value, 0)
  })

  test('passes the right on when a fill fails, and lets all fill a response that cannot be shared', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const first = await w.a.leases.lease(KEY)
    const waiting = w.b.leases.lease(KEY)
    w.a.leases.leaseEnded(first.id, 'failed')
    const second = await waiting
    assert.equal(second.granted, true)
    w.b.leases.leaseEnded(second.id, 'pass')
    const both = await Promise.all([w.a.leases.lease(KEY), w.b.leases.lease(KEY)])
    assert.deepEqual(
      both.map(({ granted }) => granted),
      [true, true],
    )
  })

  for (const [title, order] of Object.entries({
    'of its tag': { scopes: [{ kind: 'tags', tags: ['route:blog:posts'] }] },
    'of its path': { scopes: [{ kind: 'paths', paths: ['/a/'], hosts: null }] },
    'of its label': { scopes: [{ kind: 'labels', labels: ['blog'] }] },
    'of a pattern': { scopes: [{ kind: 'pattern', pattern: 'route:blog:p*', labels: null }] },
    'of everything': { scopes: [{ kind: 'everything' }] },
  } satisfies Record<string, Partial<PurgeOrder>>)) {
    test(`loses an entry by a purge ${title}, also one that is on its way`, async (t) => {
      const w = await world(t)
      if (w === undefined) return
      await shared(w)
      await w.purge(order)
      assert.equal(await w.b.textAfterLease(), undefined)
      const { id } = await w.a.leases.lease(responseKey('blog', '/a', { query: true, host: false }, 'x', ''))
      const late = await w.b.leases.lease(KEY)
      await w.purge(order)
      await w.b.fill('made before the purge')
      w.b.leases.leaseEnded(late.id, 'stored')
      w.a.leases.leaseEnded(id, 'failed')
      assert.equal(await new Instance(w.redis).textAfterLease(), undefined)
    })
  }

  test('keeps an entry through purges of other tags, hosts and labels', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    await w.purge({ scopes: [{ kind: 'tags', tags: ['route:blog:other', 'route:shop:posts'] }] })
    await w.purge({ scopes: [{ kind: 'hosts', hosts: ['a.example'] }] })
    await w.purge({ scopes: [{ kind: 'labels', labels: ['shop'] }] })
    await w.purge({ scopes: [{ kind: 'everything' }], labels: ['shop'] })
    await w.purge({ layers: ['proxy'], scopes: [{ kind: 'everything' }] })
    assert.equal(await w.b.textAfterLease(), 'one')
  })

  test('drops an entry that a purge of the instance overtakes on its way from Redis', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    w.peer.child.signal('SIGSTOP')
    const lease = w.b.leases.lease(KEY)
    // The read is on its way.
    await new Promise(setImmediate)
    // As a master does it: first in Redis, which has the read before it, then in the processes.
    const purged = w.purge({ scopes: [{ kind: 'everything' }] })
    w.b.ledger.add({ number: 1, layers: ['isr'], scopes: [{ kind: 'everything' }], mode: 'drop' })
    w.peer.child.signal('SIGCONT')
    await purged
    assert.equal((await lease).granted, true)
    assert.equal(w.b.store.get(KEY), undefined)
  })

  test('leads from the key of a path to the entries of its queries', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const reads = { query: true, host: false }
    const wide = responseKey('blog', '/a', reads, 'q=1', '')
    const { id } = await w.a.leases.lease(KEY)
    await w.a.store.put(wide, factsOf({ isQueryKeyed: true }), Buffer.from('query'))
    w.a.leases.share(KEY, wide, reads)
    w.a.leases.leaseEnded(id, 'stored')
    await waitFor('both are in Redis', async () => (await w.keys()).filter((key) => key.includes(':entry:')).length === 2)
    assert.equal((await w.b.leases.lease(KEY)).outcome, 'stored')
    assert.deepEqual(w.b.store.variance('blog', '/a'), { ...reads, isOutdated: false })
    assert.equal(await w.b.textAfterLease(wide), 'query')
  })

  test('gives a stale entry to an instance that has none, and not to one that refreshes the same entry', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const { id } = await w.a.leases.lease(KEY)
    await w.a.fill('stale', { createdAt: Date.now() - 90_000 })
    w.a.leases.leaseEnded(id, 'stored')
    await waitFor('the entry is in Redis', async () => (await w.keys()).some((key) => key.includes(':entry:')))
    assert.equal(await w.b.textAfterLease(), 'stale')
    const refresh = await w.b.leases.lease(KEY)
    assert.equal(refresh.granted, true)
    await w.b.store.put(KEY, factsOf({ createdAt: Date.now() }), Buffer.from('fresh'))
    w.b.leases.share(KEY, KEY)
    w.b.leases.leaseEnded(refresh.id, 'stored')
    await waitFor('the other instance gets it', async () => (await w.a.textAfterLease()) === 'fresh')
  })

  test('leaves nothing behind: entries, locks and old versions end by themselves', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const { id } = await w.a.leases.lease(KEY)
    await w.a.fill('short', { ttlMs: 5_100, swrMs: 0 })
    w.a.leases.leaseEnded(id, 'stored')
    for (let i = 0; i < 50; i++) await w.purge({ scopes: [{ kind: 'tags', tags: [`route:blog:tag-${i}`] }] })
    await waitFor('the entry has ended', async () => (await w.keys()).length === 1)
    const [versions = ''] = await w.keys()
    await w.purge({ scopes: [{ kind: 'tags', tags: ['route:blog:last'] }] })
    await waitFor('old versions are removed', async () => {
      await w.purge({ scopes: [{ kind: 'tags', tags: ['route:blog:last'] }] })
      return Number(await w.redis.command('HLEN', [versions])) < 10
    })
  })

  test('bounds the versions of purged tags: past them the whole label is purged', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    for (let batch = 0; batch < 3; batch++) {
      const tags = Array.from({ length: 4_000 }, (_, i) => `route:blog:${batch}-${i}`)
      await w.purge({ scopes: [{ kind: 'tags', tags }] })
    }
    const versions = (await w.keys()).find((key) => key.includes('{blog}') && key.endsWith(':versions')) ?? ''
    assert.ok(Number(await w.redis.command('HLEN', [versions])) <= 10_000)
    assert.equal(await w.b.textAfterLease(), undefined)
  })

  test('does not use a Redis that may have entries which a purge of the instance has taken', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    const closing = { number: 1, layers: ['isr', 'proxy'], scopes: [], mode: 'drop', closesSharedCache: true } as const
    w.b.ledger.add(closing)
    assert.equal(await w.b.textAfterLease(), undefined)
    w.b.ledger.settled(1)
    assert.equal(await w.b.textAfterLease(), 'one')
  })

  test('lets fills go on without it while Redis is frozen, full or gone', async (t) => {
    const w = await world(t, ['--maxmemory-policy', 'noeviction'], 500)
    if (w === undefined) return
    await shared(w)
    await w.redis.command('CONFIG', ['SET', 'maxmemory', '1'])
    assert.equal(await w.b.textAfterLease(), 'one', 'a full Redis can be read')
    const other = responseKey('blog', '/b', NARROW, '', '')
    assert.equal((await w.b.leases.lease(other)).granted, true)
    await w.purge({ scopes: [{ kind: 'everything' }] })
    assert.equal(await new Instance(w.redis).textAfterLease(), undefined, 'a full Redis can be purged')
    w.peer.child.signal('SIGSTOP')
    for (let i = 0; i < 5; i++) assert.equal((await w.b.leases.lease(`${other}${i}`)).granted, true)
    assert.equal(w.redis.isUsable, false)
    w.peer.child.signal('SIGCONT')
    await w.peer.child.kill()
    assert.equal((await w.b.leases.lease(`${other}x`)).granted, true)
  })

  test('takes entries of another format, of another key, or damaged ones for misses', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await shared(w)
    const entry = (await w.keys()).find((key) => key.includes(':entry:')) ?? ''
    const message = (await w.redis.command('HGET', [entry, 'd'])) as Buffer
    const damaged = [Buffer.from([9]), message.subarray(0, 20), Buffer.from(message).fill(0x7b, 6)]
    const ofOther = Buffer.from(message.toString('latin1').replace('blog\\u0000/a', 'blog\\u0000/x'), 'latin1')
    for (const bytes of [...damaged, ofOther, Buffer.alloc(0)]) {
      await w.redis.command('HSET', [entry, 'd', bytes])
      const other = new Instance(w.redis)
      assert.equal(await other.textAfterLease(), undefined)
    }
  })

  const large = 'x'.repeat(3 << 20)
  const writers: Readonly<Record<string, readonly (readonly [kind: string, command: string, ...args: string[]])[]>> = {
    'of other types': [
      ['entry', 'SET', 'x'],
      ['versions', 'SET', 'x'],
      ['lock', 'RPUSH', 'x'],
    ],
    'with facts that are no numbers': [
      ['entry', 'HSET', 's', 'x', 'c', 'y', 'f', 'z'],
      ['versions', 'HSET', '#', 'x', '*', 'y', '~', 'z'],
    ],
    'that never end': [
      ['lock', 'SET', 'x'],
      ['entry', 'HSET', 's', '9e15', 't', '', 'c', '9e15', 'f', '9e15', 'd', 'x'],
    ],
    'that are too large': [
      ['entry', 'HSET', 'd', large],
      ['entry', 'HSET', 't', large],
      ['lock', 'SET', large, 'PX', '5000'],
    ],
  }
  for (const [title, commands] of Object.entries(writers)) {
    test(`replaces keys ${title} that another program has written`, async (t) => {
      const w = await world(t)
      if (w === undefined) return
      await shared(w)
      const entry = (await w.keys()).find((key) => key.includes(':entry:')) ?? ''
      const names = { entry, versions: entry.replace(/entry:.*/, 'versions'), lock: entry.replace('entry', 'lock') }
      for (const [kind, command, ...args] of commands) {
        const name = names[kind as keyof typeof names]
        if (command !== 'HSET' || args.includes('9e15')) await w.redis.command('DEL', [name])
        await w.redis.command(command, [name, ...args])
        if (kind === 'lock') await w.redis.command('DEL', [names.entry])
        // One instance fills the key again, and another one has its entry.
        const first: Instance = new Instance(w.redis)
        const second = new Instance(w.redis)
        const reply = await first.leases.lease(KEY)
        assert.equal(reply.granted, true, `${command} ${kind}`)
        await first.fill('new')
        first.leases.leaseEnded(reply.id, 'stored')
        await waitFor(`the entry is shared after ${command} ${kind}`, async () => (await second.textAfterLease()) === 'new')
        await w.purge({ scopes: [{ kind: 'tags', tags: ['route:blog:other'] }] })
        assert.equal(w.redis.counts.refused, 0)
      }
    })
  }
})
