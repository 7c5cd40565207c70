import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { EVERYTHING, type Purge, type PurgedStore, PurgeLedger, type PurgeOrder, type PurgeScope, purgeTargets } from '@svc/cache'
import { CloseStack, systemClock } from '@svc/core'
import type { PurgeMember } from '@svc/processes'
import type { GenerationSpec, Revocations } from '@svc/protocol'
import { RedisClient } from '@svc/redis'
import { createLogger } from '@svc/telemetry'
import {
  type RedisPeer,
  requireProgram,
  requireRedisPrograms,
  startRedis,
  startRedisCluster,
  tempDir,
  waitFor,
} from '@svc/testkit'
import { Instances } from '../src/instances/instances.ts'
import { PurgeCoordinator } from '../src/purges/purge-coordinator.ts'
import { PurgeNumbers } from '../src/purges/purge-numbers.ts'
import { SessionStore } from '../src/sessions/session-store.ts'

const tagged = (...tags: string[]): PurgeOrder => ({ layers: ['isr'], scopes: [{ kind: 'tags', tags }], mode: 'drop' })
const noStore: PurgedStore = { purge: async () => 0, beginPurge: async () => ({ count: 0, followed: undefined }) }

/** A worker that only notes purges. */
class ScriptedWorker implements PurgeMember {
  readonly name = 'worker'
  readonly isBooting = false
  readonly exited = Promise.withResolvers<undefined>().promise
  readonly ledger: PurgeLedger
  readonly scopes: PurgeScope[] = []
  /** Purges are confirmed after this. */
  gate: Promise<void> | undefined

  constructor(purges: PurgeCoordinator) {
    this.ledger = new PurgeLedger(purges.workerState())
  }

  async purge(purge: Purge): Promise<number> {
    this.ledger.add(purge)
    this.scopes.push(...purge.scopes)
    await this.gate
    return 0
  }

  settled(number: number): void {
    this.ledger.settled(number)
  }

  kill(): void {
    assert.fail('no worker is killed')
  }
}

/** The part of a master that purges. */
class Master {
  readonly stateDir: string
  readonly logged: string[] = []
  purges!: PurgeCoordinator
  worker!: ScriptedWorker
  instances!: Instances
  sessions!: SessionStore
  #stack = new CloseStack((step, error) => assert.fail(`${step}: ${error.message}`))

  constructor(stateDir: string) {
    this.stateDir = stateDir
  }

  async start(url: string, instanceId: string): Promise<this> {
    const config = {
      redis: { url, key_prefix: 't:' },
      scaling: { instance_id: instanceId },
      server: { state_dir: this.stateDir },
    }
    const spec = () => ({ config, sites: [{ label: 'blog' }, { label: 'shop' }] }) as unknown as GenerationSpec
    const logger = createLogger({
      level: 'info',
      format: 'json',
      base: {},
      destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
      onLine: ({ text }) => this.logged.push(text),
    })
    const numbers = await PurgeNumbers.open(join(this.stateDir, 'purge-number'), 1)
    let instances: Instances | undefined
    let worker: ScriptedWorker | undefined
    this.purges = new PurgeCoordinator({
      numbers,
      stores: { isr: noStore, proxy: noStore },
      hosts: () => [],
      workers: () => (worker === undefined ? [] : [worker]),
      onDone: () => undefined,
      publisher: () => instances?.publisher,
      ackTimeoutMs: 60_000,
      clock: systemClock,
      logger,
    })
    this.#stack = new CloseStack((step, error) => assert.fail(`${step}: ${error.message}`))
    const store = await SessionStore.open({ file: join(this.stateDir, 'sessions.json'), clock: systemClock, logger })
    this.sessions = store
    const revocations = { all: () => store.revocations, merge: async (ofOthers: Revocations) => store.merge(ofOthers)?.saved }
    instances = await Instances.open({ spec, purges: this.purges, revocations, clock: systemClock, logger }, this.#stack)
    assert.ok(instances)
    this.instances = instances
    await instances.join()
    // A worker joins once the master has caught up.
    worker = new ScriptedWorker(this.purges)
    this.worker = worker
    return this
  }

  stop(): Promise<unknown> {
    return this.#stack.close()
  }

  /** Ends a token of a user, as a logout does. */
  async revoke(jti: string, username = 'vera', expiresAt = Date.now() + 600_000): Promise<void> {
    const revoked = this.sessions.revoke({ jti, holder: { username, expiresAt } })
    assert.ok(revoked)
    await Promise.all([revoked.saved, this.instances.revocations.share(revoked.ended)])
  }

  /** Tokens that this instance does not accept. */
  get revoked(): string[] {
    return this.sessions.revocations.tokens.map(({ jti }) => jti).sort()
  }

  tags(): string[] {
    return this.worker.scopes.flatMap((scope) => (scope.kind === 'tags' ? scope.tags : scope.kind))
  }
}

interface World {
  readonly program: string
  redis: RedisPeer
  master(name: string, stateDir?: string): Promise<Master>
}

async function world(t: TestContext): Promise<World | undefined> {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return undefined
  const found: World = {
    program,
    redis: await startRedis(t, program),
    async master(name, stateDir = tempDir(t, name)) {
      const master = await new Master(stateDir).start(found.redis.url, name)
      t.after(() => master.stop())
      return master
    },
  }
  return found
}

/** Both know each other. */
async function introduced(a: Master, b: Master): Promise<void> {
  for (const master of [a, b]) {
    await waitFor('the instances know each other', async () => (await master.purges.purge(tagged('hello'))).instances.known === 2)
  }
  await waitFor('both have both', () => [a, b].every((master) => master.tags().length >= 2))
  for (const { worker } of [a, b]) worker.scopes.length = 0
}

describe('instances that share a Redis', () => {
  test('carry out each other’s purges, and the answer counts those that have', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    const { l2, instances } = await a.purges.purge(tagged('route:blog:posts'))
    assert.deepEqual([l2, instances, b.tags()], ['purged', { acked: 2, known: 2 }, ['route:blog:posts']])
    const gate = Promise.withResolvers<void>()
    b.worker.gate = gate.promise
    assert.deepEqual((await a.purges.purge(tagged('slow'))).instances, { acked: 1, known: 2 })
    gate.resolve()
    assert.deepEqual(a.tags(), ['route:blog:posts', 'slow'], 'its own purges do not come back')
  })

  test('do not wait for an instance that has left', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    await b.stop()
    await waitFor('it is forgotten', async () => (await a.purges.purge(tagged('x'))).instances.known === 1)
  })

  test('keep purges while Redis is frozen, leave the shared cache alone, and send them when it is back', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    w.redis.child.signal('SIGSTOP')
    const outcome = await a.purges.purge(tagged('one'))
    await a.purges.purge(tagged('two'))
    assert.deepEqual([outcome.l2, outcome.instances.acked, a.worker.ledger.isSharedCacheClosed], ['deferred', 1, true])
    assert.match(readFileSync(join(a.stateDir, 'deferred-purges.jsonl'), 'utf8'), /"one".*\n.*"two"/)
    assert.equal(new PurgeLedger(a.purges.workerState()).isSharedCacheClosed, true, 'a worker that joins knows')
    const { instances, deferredPurges, commands } = a.instances.figures
    assert.deepEqual([instances, deferredPurges, commands.late > 0], [2, 2, true])
    w.redis.child.signal('SIGCONT')
    await waitFor('the other instance has them', () => b.tags().includes('two'))
    await waitFor('the shared cache is in use again', () => !a.worker.ledger.isSharedCacheClosed)
    assert.deepEqual(b.tags().slice(-2), ['one', 'two'])
    assert.equal(readFileSync(join(a.stateDir, 'deferred-purges.jsonl'), 'utf8'), '')
  })

  test('send the purges that an earlier master could not send, before its workers use the shared cache', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const b = await w.master('b')
    const stateDir = tempDir(t, 'a')
    writeFileSync(join(stateDir, 'deferred-purges.jsonl'), `${JSON.stringify(tagged('left'))}\n`)
    const a = await w.master('a', stateDir)
    assert.equal(a.worker.ledger.isSharedCacheClosed, false)
    await waitFor('the other instance has it', () => b.tags().includes('left'))
    const damaged = tempDir(t, 'c')
    writeFileSync(join(damaged, 'deferred-purges.jsonl'), '{"layers":["isr"')
    await w.master('c', damaged)
    await waitFor('a damaged file is a purge of everything', () => b.tags().includes('everything'))
  })

  test('start without Redis, with the shared cache closed if purges are left, and join when it comes', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    await w.redis.child.kill()
    const stateDir = tempDir(t, 'a')
    writeFileSync(join(stateDir, 'deferred-purges.jsonl'), `${JSON.stringify(tagged('left'))}\n`)
    const a = await w.master('a', stateDir)
    assert.equal(a.worker.ledger.isSharedCacheClosed, true)
    w.redis = await startRedis(t, w.program, { socket: w.redis.socket })
    await waitFor('the shared cache is in use', () => !a.worker.ledger.isSharedCacheClosed)
    const b = await w.master('b')
    await introduced(a, b)
  })

  test('catch up after a stop: with the purges that they missed', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    await b.stop()
    await a.purges.purge(tagged('missed'))
    const applied: PurgeScope[] = []
    const again = new Master(b.stateDir)
    t.after(() => again.stop())
    await again.start(w.redis.url, 'b')
    applied.push(...again.purges.workerState().unsettled.flatMap(({ scopes }) => scopes))
    assert.equal(
      again.logged.some((line) => line.includes('were missed')),
      false,
    )
    assert.ok(again.purges.workerState().last > b.purges.workerState().last, 'it has carried out one more purge')
  })

  test('drop all they have when the stream has moved past them, or Redis has forgotten it', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    await w.redis.child.kill()
    w.redis = await startRedis(t, w.program, { socket: w.redis.socket })
    for (const master of [a, b]) {
      await waitFor('the caches are dropped', () => master.worker.scopes.some(({ kind }) => kind === 'everything'))
    }
    await introduced(a, b)
    assert.equal(a.logged.filter((line) => line.includes('were missed')).length, 1)
  })

  test('make the shared cache old when Redis has lost a purge, as a replica in place of its master may have', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    const client = new RedisClient({ url: w.redis.url, connections: 1, name: 'test', clock: systemClock })
    t.after(() => client.close())
    await client.ready(10_000)
    const versions = purgeTargets(EVERYTHING, 't:', ['blog'])[0]?.key ?? ''
    const whole = async () => Number(String(await client.command('HGET', [versions, '*'])))
    await a.purges.purge(tagged('route:blog:first'))
    const wholeBefore = await whole()
    await a.purges.purge(tagged('route:blog:lost'))
    await waitFor('both have it', () => [a, b].every((master) => master.tags().includes('route:blog:lost')))
    const [[place]] = (await client.command('XREVRANGE', ['t:purges', '+', '-', 'COUNT', '1'])) as [[Buffer]]
    await client.command('XDEL', ['t:purges', place])
    await client.command('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
    for (const master of [a, b]) {
      await waitFor('the caches are dropped', () => master.worker.scopes.some(({ kind }) => kind === 'everything'))
    }
    assert.ok((await whole()) > wholeBefore, 'entries from before are not served')
  })

  test('share a cluster: the versions of each label and the stream lie on different nodes', async (t) => {
    const programs = requireRedisPrograms(t)
    if (programs === undefined) return
    const { url } = await startRedisCluster(t, programs)
    const start = async (name: string) => {
      const master = new Master(tempDir(t, name))
      t.after(() => master.stop())
      return master.start(url, name)
    }
    const [a, b] = [await start('a'), await start('b')]
    await introduced(a, b)
    // On a busy machine Redis may be late for one: that purge is deferred.
    await waitFor('both confirm a purge', async () => {
      const { l2, instances } = await a.purges.purge(tagged('posts'))
      return l2 === 'purged' && instances.acked === 2 && instances.known === 2
    })
    assert.deepEqual([...new Set(b.tags())], ['posts'])
  })

  test('end sessions on all of them, on one that joins later, and after a restart without Redis', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await a.revoke('one')
    await waitFor('the other instance has it', () => b.revoked.includes('one'))
    await b.revoke('two words')
    await a.revoke('past', 'vera', Date.now() + 1)
    const changed = new Map([['vera', 'new hash']])
    a.sessions.followPasswords(new Map([['vera', 'old hash']]))
    const ended = a.sessions.followPasswords(changed)
    assert.ok(ended)
    await a.instances.revocations.share(ended.ended)
    await waitFor('the user has ended', () => b.sessions.revocations.users.some(({ username }) => username === 'vera'))
    const c = await w.master('c')
    assert.deepEqual(c.revoked.length, 2)
    assert.deepEqual(c.sessions.revocations.users, a.sessions.revocations.users)
    await b.stop()
    await w.redis.child.kill()
    const again = new Master(b.stateDir)
    t.after(() => again.stop())
    await again.start(w.redis.url, 'b')
    assert.ok(again.revoked.includes('one'))
  })

  test('end sessions when Redis is back, from empty, if it was away', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    await w.redis.child.kill()
    await waitFor('the loss is noticed', () => a.instances.problem !== undefined)
    await a.revoke('late')
    assert.deepEqual(b.revoked, [])
    w.redis = await startRedis(t, w.program, { socket: w.redis.socket })
    await waitFor('the other instance has it', () => b.revoked.includes('late'))
  })

  test('take an order that they cannot read for a purge of everything', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const a = await w.master('a')
    a.worker.scopes.length = 0
    const client = new RedisClient({ url: w.redis.url, connections: 1, name: 'test', clock: systemClock })
    t.after(() => client.close())
    await client.ready(10_000)
    for (const [i, order] of ['{"layers"', '{"layers":1}'].entries()) {
      await client.command('XADD', ['t:purges', '*', 'id', String(i), 'from', 'other', 'order', order])
      await waitFor('it drops all', () => a.tags().filter((kind) => kind === 'everything').length === i + 1)
    }
  })
})
