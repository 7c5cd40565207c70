import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@svc/core'
import {
  Child,
  PROCESS_WAIT_MS,
  redisCli,
  requireRedisPrograms,
  startRedisCluster,
  startRedisSentinel,
  startTlsRedis,
  tempDir,
  waitFor,
  writeCertificate,
} from '@svc/testkit'
import { RedisClient } from '../src/redis-client.ts'

const ADD = { name: 'add', lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])" }

async function startClient(t: TestContext, url: string, readyMs = 10_000): Promise<RedisClient> {
  const client = new RedisClient({ url, connections: 2, name: 'test', clock: systemClock, deadlineMs: 1_000 })
  t.after(() => client.close())
  await client.ready(readyMs)
  return client
}

test('a client of a cluster', async (t) => {
  const programs = requireRedisPrograms(t)
  if (programs === undefined) return
  const { nodes, url } = await startRedisCluster(t, programs)
  const client = await startClient(t, url)

  await t.test('waits for a stream on the node that has it', async () => {
    for (const stream of ['a', 'b', 'c', 'd']) {
      const blocking = await client.open()
      const waiting = blocking.command('XREAD', ['BLOCK', '10000', 'STREAMS', stream, '$'])
      const readers = () => nodes.filter(({ port }) => redisCli(programs, port, 'CLIENT', 'LIST').includes('cmd=xread')).length
      await waitFor('the read has begun', () => readers() === 1)
      await client.command('XADD', [stream, '*', 'field', stream])
      assert.ok(Array.isArray(await waiting))
      blocking.close()
      await waitFor('the connection is closed', () => readers() === 0)
    }
  })

  await t.test('receives the messages that any node publishes', async (t) => {
    const received: string[] = []
    t.after(client.subscribe('news', (message) => received.push(message)))
    await waitFor('it is subscribed', async () => {
      await client.command('PUBLISH', ['news', 'first'])
      return received.length > 0
    })
    for (const { port } of nodes) redisCli(programs, port, 'PUBLISH', 'news', `of ${port}`)
    await waitFor('all have come', () => nodes.every(({ port }) => received.includes(`of ${port}`)))
  })

  await t.test('reaches the node of each key, and goes on with the others when one is lost', async () => {
    const keys = Array.from({ length: 32 }, (_, i) => `{label-${i}}:n`)
    const sums = await Promise.all(keys.map((key) => client.script(ADD, [key], ['2'])))
    assert.ok(sums.every((sum) => sum === 2))
    await nodes[1]?.child.kill()
    const answers = () => Promise.all(keys.map((key) => client.script(ADD, [key], ['1']).catch(() => undefined)))
    let answered: unknown[] = []
    await waitFor('the others answer', async () => {
      answered = (await answers()).filter((sum) => sum !== undefined)
      return answered.length > keys.length / 3
    })
    assert.ok(answered.length < keys.length, 'the keys of the lost node are not there')
  })
})

describe('a client of a Redis with sentinels', () => {
  test('goes on with the replica that takes the place of a lost master', async (t) => {
    const programs = requireRedisPrograms(t)
    if (programs === undefined) return
    const { master, replica, url } = await startRedisSentinel(t, programs)
    const client = await startClient(t, url)
    assert.equal(await client.script(ADD, ['n'], ['3']), 3)
    await waitFor('the replica has the value', () => redisCli(programs, replica.port, 'GET', 'n') === '3')
    await master.child.kill()
    const writes = () => client.script(ADD, ['n'], ['0']).then((value) => value === 3)
    // A sentinel that had no processor time for two seconds promotes nothing for thirty.
    await waitFor('the replica is written to', writes, PROCESS_WAIT_MS)
    assert.ok(client.isUsable)
  })

  test('says which sentinels it cannot reach', async (t) => {
    const client = await startClient(t, 'redis-sentinel://127.0.0.1:1/main', 0)
    await waitFor('the failure is known', () => /sentinel/i.test(client.problem ?? ''))
  })
})

describe('a client of a Redis with TLS', () => {
  test('logs in as a user with the rights that it needs, where the certificate is trusted', async (t) => {
    const programs = requireRedisPrograms(t)
    if (programs === undefined) return
    const groups = ['+@read', '+@write', '+@scripting', '+@pubsub', '+@connection', '+@stream', '+info']
    const rights = ['on', '>p%40ss:word', '~svc:*', '&svc:*', ...groups]
    const certificate = writeCertificate(tempDir(t, 'redis'), 'redis', { commonName: 'localhost', hosts: ['localhost'] })
    const redis = await startTlsRedis(t, programs, certificate, ['--user', 'default', 'off', '--user', 'svc', ...rights])
    const url = `rediss://svc:${encodeURIComponent('p%40ss:word')}@localhost:${redis.port}`
    const program = join(dirname(fileURLToPath(import.meta.url)), 'fixtures', 'ping.ts')
    const ping = (env: NodeJS.ProcessEnv) => new Child(t, process.execPath, [program, url], { env: { ...process.env, ...env } })
    const trusted = ping({ NODE_EXTRA_CA_CERTS: certificate.cert })
    assert.equal(await trusted.waitForLine('an answer', (line) => line.startsWith('answer')), 'answer PONG 1 NOPERM')
    const untrusted = ping({})
    assert.match(await untrusted.waitForLine('an answer', (line) => line.startsWith('answer')), /self-signed certificate/)
  })
})
