import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { PurgeLedger } from '@svc/cache'
import { requireRedisPrograms, startRedis, startRedisCluster, tempDir, waitFor } from '@svc/testkit'
import { clientOf, introduced, Master, tagged, world } from './instance-master.ts'

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

  test('forget instances that another program has written', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    const client = await clientOf(t, w)
    const names = async () => ((await client.command('HKEYS', ['t:instances'])) as Buffer[]).map(String).sort()
    await client.command('HSET', ['t:instances', 'ghost', '9e15', 'word', 'x', 'n'.repeat(2_000), String(Date.now())])
    await waitFor('both are alone again', async () => (await names()).join() === 'a,b')
    assert.deepEqual([a.instances.figures.instances, b.instances.figures.instances], [2, 2])
    await client.command('SET', ['t:instances', 'x'])
    await waitFor('both have come back', async () => (await names().catch(() => [])).join() === 'a,b')
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
    const client = await clientOf(t, w)
    await client.command('SET', ['t:{sessions}:tokens', 'of another program'])
    await a.revoke('later')
    await waitFor('the key is replaced', () => b.revoked.includes('later'))
  })
})
