import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { EVERYTHING, purgeTargets } from '@svc/cache'
import { startRedis, tempDir, waitFor } from '@svc/testkit'
import { clientOf, introduced, Master, tagged, world } from './instance-master.ts'

/** More than one read of the stream brings. */
const MISSED = 150

describe('instances that read the stream of purges', () => {
  test('catch up after a stop: with the purges that they missed', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    await b.stop()
    for (let i = 0; i < MISSED; i++) await a.purges.purge(tagged(`missed-${i}`))
    const again = new Master(b.stateDir)
    t.after(() => again.stop())
    await again.start(w.redis.url, 'b')
    const missed = again.done.flatMap(({ scopes }) => scopes.flatMap((scope) => (scope.kind === 'tags' ? scope.tags : [])))
    assert.deepEqual(
      missed,
      Array.from({ length: MISSED }, (_, i) => `missed-${i}`),
    )
    assert.equal(
      again.logged.some((line) => line.includes('were missed')),
      false,
    )
  })

  test('drop all they have when orders were trimmed before they could read them', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    const gate = Promise.withResolvers<void>()
    b.worker.gate = gate.promise
    await a.purges.purge(tagged('held'))
    await a.purges.purge(tagged('trimmed'))
    await a.purges.purge(tagged('read'))
    const client = await clientOf(t, w)
    const entries = (await client.command('XREVRANGE', ['t:purges', '+', '-', 'COUNT', '2'])) as [Buffer][]
    await client.command('XDEL', ['t:purges', entries[1]?.[0] ?? ''])
    gate.resolve()
    await waitFor('the caches are dropped', () => b.worker.scopes.some(({ kind }) => kind === 'everything'))
    assert.equal(b.tags().includes('trimmed'), false)
    assert.equal(a.tags().includes('everything'), false)
    await introduced(a, b)
  })

  test('replace a key that is not the stream of purges, and say so', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    const client = await clientOf(t, w)
    await client.command('SET', ['t:purges', 'something else'])
    await waitFor('it is said', () =>
      [a, b].some(({ logged }) => logged.some((line) => line.includes('is not the stream of purges'))),
    )
    await introduced(a, b)
  })

  test('keep a bounded number of characters in the stream', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const a = await w.master('a')
    const client = await clientOf(t, w)
    const length = async () => Number(await client.command('XLEN', ['t:purges']))
    for (let i = 0; i < 20; i++) await a.purges.purge(tagged(`small-${i}`))
    assert.ok((await length()) > 20)
    const large = 'x'.repeat(4 << 20)
    for (let i = 0; i < 8; i++) await a.purges.purge(tagged(large))
    assert.ok((await length()) <= 6, `${await length()} entries`)
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
    const client = await clientOf(t, w)
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

  test('take an order that they cannot read for a purge of everything', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const a = await w.master('a')
    a.worker.scopes.length = 0
    const client = await clientOf(t, w)
    const tooLarge = JSON.stringify(tagged('x'.repeat(17 << 20)))
    for (const [i, order] of ['{"layers"', '{"layers":1}', tooLarge].entries()) {
      const [[last]] = (await client.command('XREVRANGE', ['t:purges', '+', '-', 'COUNT', '1'])) as [[Buffer]]
      await client.command('XADD', ['t:purges', '*', 'id', String(i), 'from', 'other', 'after', last, 'order', order])
      await waitFor('it drops all', () => a.tags().filter((kind) => kind === 'everything').length === i + 1)
    }
  })

  test('share a cluster of one node under a single address', async (t) => {
    const w = await world(t)
    if (w === undefined) return
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const busPort = String((probe.address() as AddressInfo).port)
    await new Promise((resolve) => probe.close(resolve))
    const args = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--dir', tempDir(t, 'cluster')]
    w.redis = await startRedis(t, w.program, { args })
    const client = await clientOf(t, w)
    await client.command('CLUSTER', ['ADDSLOTSRANGE', '0', '16383'])
    await waitFor('the cluster is up', () =>
      client.command('GET', ['x']).then(
        () => true,
        () => false,
      ),
    )
    const [a, b] = [await w.master('a'), await w.master('b')]
    await introduced(a, b)
    assert.equal((await a.purges.purge(tagged('route:blog:posts', 'route:shop:posts'))).l2, 'purged')
    await waitFor('the other instance has it', () => b.tags().includes('route:shop:posts'))
  })
})
