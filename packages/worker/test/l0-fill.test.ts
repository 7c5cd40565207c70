import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResponseHead } from '@svc/http'
import type { L0Fill } from '../src/request/l0-fill.ts'
import type { RequestContext } from '../src/request/request-context.ts'
import { PipelineServer } from './pipeline-server.ts'

const HIT = 'svc-l0; hit'
const head: ResponseHead = {
  status: 200,
  headers: [
    ['content-type', 'text/html'],
    ['etag', '"v1"'],
  ],
}
const body = Buffer.from('x'.repeat(5_000))
const conditional = { headers: { 'if-none-match': '"v1"' } }

/** Answers 304 to all, and hands out what takes the whole for L0. */
function notModified(
  server: PipelineServer,
  options: { bytes?: number; head?: ResponseHead; send?: (fill: L0Fill) => boolean } = {},
) {
  const fills: L0Fill[] = []
  const contexts: RequestContext[] = []
  server.intercept = (context) => {
    contexts.push(context)
    const { path } = context.request
    const tags = [`route:shop:${path}`]
    context.offerToL0({ expiresAt: server.clock.now() + 60_000, label: 'shop', path, tags, dependsOnCookies: false })
    context.fillL0({
      head: options.head ?? head,
      bytes: options.bytes ?? body.byteLength,
      send(fill) {
        fills.push(fill)
        return options.send?.(fill) ?? true
      },
    })
    context.respond({ status: 304, headers: [['etag', '"v1"']] })
    return 'answered'
  }
  return { fills, contexts }
}

/** Asks until a fill may have begun. @returns the statuses */
async function twice(server: PipelineServer, url = '/'): Promise<number[]> {
  return [(await server.get(url, conditional)).status, (await server.get(url, conditional)).status]
}

const isHit = async (server: PipelineServer) => (await server.get('/', conditional)).headers['cache-status'] === HIT

test('many requests during a fill cause no other', async (t) => {
  const server = await PipelineServer.start(t)
  const { fills } = notModified(server)
  for (let i = 0; i < 3; i++) assert.deepEqual(await twice(server), [304, 304])
  assert.equal(fills.length, 1)
  fills[0]?.respond(head, body)
  assert.equal(await isHit(server), true)
  assert.deepEqual((await server.get('/')).body, body)
})

test('a request that L0 cannot answer triggers no fill of an existing entry', async (t) => {
  const server = await PipelineServer.start(t)
  const { fills } = notModified(server, {
    send(fill) {
      fill.respond(head, body)
      return true
    },
  })
  await twice(server)
  const since = { headers: { 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' } }
  for (let i = 0; i < 3; i++) assert.equal((await server.get('/', since)).status, 304)
  assert.equal(fills.length, 1)
})

test('a purge keeps a fill in flight out of the cache', async (t) => {
  const server = await PipelineServer.start(t)
  const { fills } = notModified(server)
  await twice(server)
  const purge = { number: 1, layers: ['isr'], mode: 'drop', scopes: [{ kind: 'everything' }] } as const
  server.ledger.add(purge)
  server.l0.purge(purge)
  server.ledger.settled(1)
  fills[0]?.respond(head, body)
  assert.equal(server.l0.stats().l0Entries, 0)
  assert.equal(server.ledger.kept, 0)
  await twice(server)
  assert.equal(fills.length, 2)
  fills[1]?.respond(head, body)
  assert.equal(await isHit(server), true)
})

test('a stage that withdraws the answer keeps out what is still being made', async (t) => {
  const server = await PipelineServer.start(t)
  const { fills, contexts } = notModified(server)
  await twice(server)
  for (const context of contexts) context.withdrawFromL0()
  fills[0]?.respond(head, body)
  assert.equal(server.l0.stats().l0Entries, 0)
  assert.equal(server.ledger.kept, 0)
})

const unsent: ReadonlyArray<readonly [why: string, options: Parameters<typeof notModified>[1]]> = [
  ['it is too large', { bytes: 100_000_000 }],
  ['it is nothing for others', { head: { status: 200, headers: [['cache-control', 'private']] } }],
  ['it is in a coding of its own', { head: { status: 200, headers: [['content-encoding', 'gzip']] } }],
]

for (const [why, options] of unsent) {
  test(`the whole is not even made when ${why}`, async (t) => {
    const server = await PipelineServer.start(t)
    const { fills } = notModified(server, options)
    assert.deepEqual(await twice(server), [304, 304])
    assert.equal(fills.length, 0)
    assert.equal(server.ledger.kept, 0)
  })
}

test('a fill that fails ends, and the next one may begin', async (t) => {
  const server = await PipelineServer.start(t)
  const ways: ReadonlyArray<(fill: L0Fill) => boolean> = [
    () => false,
    () => {
      throw new Error('no file')
    },
    (fill) => {
      fill.stream(head).abort()
      return true
    },
    (fill) => {
      const writer = fill.stream(head)
      for (let i = 0; i < 10; i++) writer.write(Buffer.alloc(1_000_000))
      writer.end()
      return true
    },
  ]
  for (const send of ways) {
    const { fills } = notModified(server, { send })
    assert.deepEqual(await twice(server), [304, 304])
    assert.ok(fills.length > 0)
    assert.deepEqual([server.l0.stats().l0Entries, server.ledger.kept], [0, 0])
  }
  assert.ok(server.failures.every(({ message }) => message === 'no file'))
  assert.ok(server.failures.length > 0)
})

test('the writer of a fill learns that its last reader has left', async (t) => {
  const server = await PipelineServer.start(t)
  const { fills } = notModified(server)
  await twice(server)
  const closed: boolean[] = []
  fills[0]?.onClosed((isAborted) => closed.push(isAborted))
  fills[0]?.stream(head).write(Buffer.alloc(10_000_000))
  assert.deepEqual(closed, [true])
})
