import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, waitFor } from '@svc/testkit'
import type { UpstreamSpec } from '../src/balance/upstream-group.ts'
import { HttpConnections } from '../src/http/http-connections.ts'
import { parseNextUpstream } from '../src/http/origin-settings.ts'
import { ask, begin, CollectingSink, groupOf, ManualBody, originFor, server, startRaw } from './raw-upstream.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

test('a connection that died while it was idle costs an idempotent request nothing', async (t) => {
  const up = await startRaw(t, (connection, _head, index) => {
    if (index === 0) connection.send(OK)
    else connection.socket.destroy()
  })
  const origin = originFor(t, groupOf([server(up.address)]), { nextUpstream: parseNextUpstream(['off']) })
  assert.equal((await ask(origin)).status, 200)
  assert.equal((await ask(origin)).status, 200)
  assert.equal(up.connections.length, 2)
})

test('a POST is not sent again when its connection died, unless that is allowed', async (t) => {
  for (const [words, isSentAgain] of [
    [['error'], false],
    [['error', 'non_idempotent'], true],
  ] as const) {
    const up = await startRaw(t, (connection, _head, index) => {
      if (index === 0) connection.send(OK)
      else connection.socket.destroy()
    })
    const connections = new HttpConnections(new ManualClock())
    t.after(() => connections.close())
    const more = { nextUpstream: parseNextUpstream(words), connections }
    const origin = originFor(t, groupOf([server(up.address)]), more)
    assert.equal((await ask(origin)).status, 200)
    const { status, error } = await ask(origin, { method: 'POST' })
    assert.deepEqual([status, error?.code], isSentAgain ? [200, undefined] : [0, 'UPSTREAM_UNREACHABLE'])
    assert.equal(up.connections.length, isSentAgain ? 2 : 1)
  }
})

test('a request that cannot be sent again goes on no connection that its server may be about to close', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const clock = new ManualClock()
  const connections = new HttpConnections(clock)
  t.after(() => connections.close())
  const origin = originFor(t, groupOf([server(up.address)]), { connections })
  await ask(origin)
  clock.advance(1_000)
  await ask(origin, { method: 'POST' })
  clock.advance(5_000)
  await ask(origin)
  assert.equal(up.connections.length, 1)
  clock.advance(1_001)
  await ask(origin, { method: 'POST' })
  await up.connections[0]?.closed()
  assert.equal(up.connections.length, 2)
  clock.advance(1_001)
  const body = new ManualBody(1)
  const sink = new CollectingSink()
  begin(origin, sink, { method: 'PUT', body })
  await waitFor('the body to be read', () => body.isRead)
  body.push('x')
  body.end()
  await sink.done.promise
  assert.equal(up.connections.length, 3)
})

test('a connection is not kept longer than its server says', async (t) => {
  const up = await startRaw(t, (connection) =>
    connection.send('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n'),
  )
  await ask(originFor(t, groupOf([server(up.address)])))
  await up.connections[0]?.closed()
})

test('no more connections are kept than the group says', async (t) => {
  const up = await startRaw(t, () => undefined)
  const origin = originFor(t, groupOf([server(up.address)], { keepalive: 1 }))
  const answers = [ask(origin), ask(origin), ask(origin)]
  await waitFor('three requests', () => up.connections.filter(({ received }) => received.includes('\r\n\r\n')).length === 3)
  for (const connection of up.connections) connection.send(OK)
  await Promise.all(answers)
  await waitFor('two of three to be closed', () => up.connections.filter(({ isClosed }) => isClosed).length === 2)
})

test('a connection serves as many requests, and for as long, as its group says', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const clock = new ManualClock()
  const connections = new HttpConnections(clock)
  t.after(() => connections.close())
  const originOf = (reuse: UpstreamSpec['reuse'] & object) =>
    originFor(t, groupOf([server(up.address)], { reuse }), { connections })
  const twice = originOf({ requests: 2 })
  for (let index = 0; index < 4; index++) await ask(twice)
  assert.equal(up.connections.length, 2)
  const aged = originOf({ ageMs: 1_000 })
  await ask(aged)
  clock.advance(1_001)
  await ask(aged)
  assert.equal(up.connections.length, 3)
  await ask(aged)
  assert.equal(up.connections.length, 4)
  const never = originOf({ idleMs: 0 })
  await ask(never)
  await ask(never)
  assert.equal(up.connections.length, 6)
})
