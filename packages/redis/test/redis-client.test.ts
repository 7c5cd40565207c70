import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { codeOf, systemClock } from '@svc/core'
import { type RedisPeer, requireProgram, startRedis, tempDir, waitFor } from '@svc/testkit'
import { RedisClient } from '../src/redis-client.ts'

const ADD = { name: 'add', lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])" }

async function startClient(t: TestContext, url: string, readyMs = 10_000): Promise<{ client: RedisClient; changes: boolean[] }> {
  const changes: boolean[] = []
  const client = new RedisClient({
    url,
    connections: 2,
    name: 'test',
    clock: systemClock,
    onChange: ({ isUsable }) => changes.push(isUsable),
  })
  t.after(() => client.close())
  await client.ready(readyMs)
  return { client, changes }
}

async function start(t: TestContext, args: readonly string[] = []): Promise<{ redis: RedisPeer; program: string } | undefined> {
  const program = requireProgram(t, 'redis-server')
  return program === undefined ? undefined : { redis: await startRedis(t, program, { args }), program }
}

const codeOfFailure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: unknown) => codeOf(error),
  )

describe('a client of Redis', () => {
  test('answers with buffers, and runs scripts that Redis does not know yet', async (t) => {
    const started = await start(t)
    if (started === undefined) return
    const { client } = await startClient(t, started.redis.url)
    const bytes = Buffer.from([0, 255, 128])
    await client.command('SET', ['key', bytes])
    assert.deepEqual(await client.command('GET', ['key']), bytes)
    assert.equal(await client.script(ADD, ['n'], ['2']), 2)
    await client.command('SCRIPT', ['FLUSH'])
    assert.equal(await client.script(ADD, ['n'], ['3']), 5)
    assert.equal(await codeOfFailure(client.command('GET', [])), 'REDIS_REFUSED')
    assert.deepEqual(client.counts, { ok: 5, refused: 1, late: 0, unavailable: 0 })
  })

  test('rejects at once while Redis is frozen, and recovers by itself', async (t) => {
    const started = await start(t)
    if (started === undefined) return
    const { client, changes } = await startClient(t, started.redis.url)
    await client.command('PING', [])
    started.redis.child.signal('SIGSTOP')
    const first = await Promise.all(Array.from({ length: 3 }, () => codeOfFailure(client.command('PING', []))))
    assert.deepEqual(first, ['REDIS_TIMEOUT', 'REDIS_TIMEOUT', 'REDIS_TIMEOUT'])
    assert.equal(client.isUsable, false)
    assert.equal(await codeOfFailure(client.command('PING', [])), 'REDIS_UNAVAILABLE')
    assert.match(client.problem ?? '', /in time/)
    await waitFor('the silent connection is replaced', () => /Socket timeout/.test(client.problem ?? ''))
    started.redis.child.signal('SIGCONT')
    await waitFor('Redis is usable again', () => client.isUsable)
    await client.command('PING', [])
    assert.deepEqual(changes, [true, false, true])
  })

  test('rejects at once while every answer is late by half a second, and recovers by itself', async (t) => {
    const started = await start(t)
    if (started === undefined) return
    let delayMs = 0
    const slow = createServer((client) => {
      const server = connect(started.redis.socket)
      const close = () => [client, server].map((socket) => socket.destroy())
      for (const socket of [client, server]) socket.on('error', close).on('close', close)
      client.pipe(server)
      server.on('data', (reply) => setTimeout(() => client.writable && client.write(reply), delayMs))
    })
    const path = join(tempDir(t, 'slow'), 'slow.sock')
    await new Promise<void>((resolve) => slow.listen(path, resolve))
    t.after(() => slow.close())
    const { client, changes } = await startClient(t, `unix://${path}`)
    await client.command('PING', [])
    delayMs = 500
    const first = await Promise.all(Array.from({ length: 3 }, () => codeOfFailure(client.command('PING', []))))
    assert.deepEqual(first, ['REDIS_TIMEOUT', 'REDIS_TIMEOUT', 'REDIS_TIMEOUT'])
    const { late } = client.counts
    await waitFor('some probes are late, too', () => client.counts.late > late + 1)
    assert.equal(await codeOfFailure(client.command('PING', [])), 'REDIS_UNAVAILABLE')
    delayMs = 0
    await waitFor('Redis is usable again', () => client.isUsable)
    assert.deepEqual(changes, [true, false, true])
  })

  test('connects again to a Redis that was killed, which has forgotten scripts and data', async (t) => {
    const started = await start(t)
    if (started === undefined) return
    const { client } = await startClient(t, started.redis.url)
    await client.script(ADD, ['n'], ['1'])
    const blocking = await client.open()
    const waiting = codeOfFailure(blocking.command('BLPOP', ['list', '5']))
    await started.redis.child.kill()
    assert.notEqual(await waiting, 'ok')
    await waitFor('the loss is noticed', () => !client.isUsable)
    assert.equal(await codeOfFailure(client.command('PING', [])), 'REDIS_UNAVAILABLE')
    assert.equal(await codeOfFailure(client.open(200)), 'REDIS_UNAVAILABLE')
    await startRedis(t, started.program, { socket: started.redis.socket })
    await waitFor('Redis is usable again', () => client.isUsable)
    assert.equal(await client.script(ADD, ['n'], ['1']), 1)
  })

  test('receives messages again after Redis was restarted', async (t) => {
    const started = await start(t)
    if (started === undefined) return
    const { client } = await startClient(t, started.redis.url)
    const received: string[] = []
    const stop = client.subscribe('news', (message) => received.push(message))
    t.after(stop)
    const publish = (text: string) => async () => Number(await client.command('PUBLISH', ['news', text]).catch(() => 0)) > 0
    await waitFor('the first message is received', publish('one'))
    await started.redis.child.kill()
    await startRedis(t, started.program, { socket: started.redis.socket })
    await waitFor('the second message is received', publish('two'))
    await waitFor('both have come', () => received.includes('two'))
    assert.equal(received[0], 'one')
  })

  test('says why it cannot log in, and does not repeat the password', async (t) => {
    const started = await start(t, ['--requirepass', 'secret-password'])
    if (started === undefined) return
    const { client } = await startClient(t, `unix://:wrong-password@localhost${started.redis.socket}`, 0)
    await waitFor('the refusal is known', () => /WRONGPASS/.test(client.problem ?? ''))
    assert.doesNotMatch(client.problem ?? '', /wrong-password/)
    const right = await startClient(t, `unix://:secret-password@localhost${started.redis.socket}`)
    assert.equal(String(await right.client.command('PING', [])), 'PONG')
  })

  test('goes on when Redis has no memory left: writes are refused, and reads are answered', async (t) => {
    const started = await start(t, ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'])
    if (started === undefined) return
    const { client } = await startClient(t, started.redis.url)
    for (let i = 0; i < 5; i++) assert.equal(await codeOfFailure(client.command('SET', ['key', 'value'])), 'REDIS_REFUSED')
    assert.equal(await client.command('GET', ['key']), null)
    assert.equal(client.isUsable, true)
  })
})
