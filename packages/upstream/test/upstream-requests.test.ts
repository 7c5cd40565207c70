import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { HttpError } from '@svc/http'
import { waitFor } from '@svc/testkit'
import { parseNextUpstream } from '../src/http/origin-settings.ts'
import { ask, begin, CollectingSink, deadAddress, groupOf, ManualBody, originFor, server, startRaw } from './raw-upstream.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

test('a request goes out as it is given, without fields of the connection', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const origin = originFor(t, groupOf([server(up.address)]))
  const hop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'content-length', 'transfer-encoding']
  const headers = [
    ['host', 'a.test'],
    ...hop.map((name) => [name, '7'] as const),
    ['expect', '100-continue'],
    ['x-a', '\u00e9'],
  ] as const
  await ask(origin, { target: '/a%20b?c=d', headers })
  assert.equal(up.connections[0]?.received, 'GET /a%20b?c=d HTTP/1.1\r\nhost: a.test\r\nx-a: \u00e9\r\n\r\n')
})

test('a request without Host gets the one of the upstream', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  await ask(originFor(t, groupOf([server(up.address)])), { headers: [] })
  assert.equal(up.connections[0]?.received, 'GET / HTTP/1.1\r\nhost: up.test\r\n\r\n')
})

test('with HTTP/1.0, or with Connection: close, a connection serves one request', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const old = originFor(t, groupOf([server(up.address)]), { httpVersion: '1.0' })
  await ask(old)
  assert.equal(up.connections[0]?.received, 'GET / HTTP/1.0\r\nconnection: close\r\nhost: a.test\r\n\r\n')
  await up.connections[0]?.closed()
  const once = originFor(t, groupOf([server(up.address)]), { keepsConnections: false })
  await ask(once)
  assert.match(up.connections[1]?.received ?? '', /^GET \/ HTTP\/1\.1\r\nconnection: close\r\n/)
  await up.connections[1]?.closed()
})

const UNWRITABLE = {
  'a space in the target': { target: '/a b' },
  'a line break in the target': { target: '/a\r\nx: y' },
  'a byte over ASCII in the target': { target: '/\u00e9' },
  'a target that is no path': { target: 'http://a.test/' },
  'a method that is none': { method: 'GET /x HTTP/1.1\r\n' },
  'a field name with a line break': { headers: [['x\r\ny', 'z']] },
  'a field value with a line break': { headers: [['x', 'y\r\nz: a']] },
  'a field value with NUL': { headers: [['x', 'y\0']] },
  'a character over latin-1': { headers: [['x', '\u010a']] },
  'two Host fields': {
    headers: [
      ['host', 'a'],
      ['host', 'b'],
    ],
  },
} as const

for (const [name, more] of Object.entries(UNWRITABLE)) {
  test(`a request with ${name} is not sent`, async (t) => {
    const up = await startRaw(t, (connection) => connection.send(OK))
    const { error } = await ask(originFor(t, groupOf([server(up.address)])), more as Parameters<typeof ask>[1])
    assert.match(error?.message ?? '', /cannot write the request/)
    assert.equal(up.connections[0]?.received ?? '', '')
  })
}

test('a body of known length is sent with it', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const origin = originFor(t, groupOf([server(up.address)]))
  for (let round = 0; round < 2; round++) {
    const body = new ManualBody(5)
    const sink = new CollectingSink()
    begin(origin, sink, { method: 'POST', body })
    await waitFor('the body to be read', () => body.isRead)
    body.push('hel')
    body.push('')
    body.push('lo')
    body.end()
    assert.equal((await sink.done.promise).status, 200)
  }
  assert.equal(up.connections[0]?.received, 'POST / HTTP/1.1\r\ncontent-length: 5\r\nhost: a.test\r\n\r\nhello'.repeat(2))
})

test('chunks are framed again', async (t) => {
  const up = await startRaw(t, (connection) => {
    void connection.seen('0\r\n\r\n').then(() => connection.send(OK))
  })
  const body = new ManualBody()
  const sink = new CollectingSink()
  begin(originFor(t, groupOf([server(up.address)])), sink, { method: 'PUT', body })
  await waitFor('the body to be read', () => body.isRead)
  body.push('0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n')
  body.push('')
  body.push('x'.repeat(17))
  body.end()
  assert.equal((await sink.done.promise).body, 'ok')
  const [, sent] = up.connections[0]?.received.split('\r\n\r\n1f\r\n') ?? []
  assert.equal(sent, `0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n\r\n11\r\n${'x'.repeat(17)}\r\n0\r\n\r\n`)
})

test('a body that does not keep to its length is not passed on as if it did', async (t) => {
  for (const text of ['too long for that', 'shrt']) {
    const up = await startRaw(t, (connection) => connection.send(OK))
    const body = new ManualBody(5)
    const sink = new CollectingSink()
    begin(originFor(t, groupOf([server(up.address)])), sink, { method: 'PUT', body })
    await waitFor('the body to be read', () => body.isRead)
    body.push(text)
    body.end()
    assert.notEqual((await sink.done.promise).error, undefined)
    await up.connections[0]?.closed()
    assert.ok(!up.connections[0]?.received.includes('for that'))
  }
})

test('methods with a body say so when it is empty', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  await ask(originFor(t, groupOf([server(up.address)])), { method: 'POST' })
  assert.match(up.connections[0]?.received ?? '', /\r\ncontent-length: 0\r\n/)
})

test('a client that breaks off its body takes the request with it', async (t) => {
  const up = await startRaw(t, () => undefined)
  const body = new ManualBody(10)
  const sink = new CollectingSink()
  begin(originFor(t, groupOf([server(up.address)])), sink, { method: 'POST', body })
  await waitFor('the body to be read', () => body.isRead)
  body.push('12345')
  await up.connections[0]?.seen('12345')
  body.end(new HttpError('HTTP_ABORTED', 'gone'))
  assert.equal((await sink.done.promise).error?.code, 'HTTP_ABORTED')
  await up.connections[0]?.closed()
})

test('an answer before the end of the body is passed on, and the rest of the body is not sent', async (t) => {
  const up = await startRaw(t, () => undefined, {
    onConnection(connection) {
      void connection.seen('12345').then(() => {
        connection.send('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig')
      })
    },
  })
  const body = new ManualBody(1_000_000)
  const sink = new CollectingSink()
  begin(originFor(t, groupOf([server(up.address)])), sink, { method: 'POST', body })
  await waitFor('the body to be read', () => body.isRead)
  body.push('12345')
  const answer = await sink.done.promise
  assert.equal(answer.status, 413)
  assert.equal(answer.body, 'big')
  body.push('67890')
  await up.connections[0]?.closed()
  assert.ok(!up.connections[0]?.received.includes('67890'))
})

test('a server that does not read its request holds up the client, and then loses it', async (t) => {
  const up = await startRaw(t, () => undefined, { onConnection: ({ socket }) => socket.pause() })
  const body = new ManualBody(1 << 30)
  const sink = new CollectingSink()
  const timeouts = { connectMs: 60_000, readMs: 60_000, sendMs: 100 }
  begin(originFor(t, groupOf([server(up.address)]), { timeouts }), sink, { method: 'PUT', body })
  await waitFor('the body to be read', () => body.isRead)
  let pushed = 0
  while (body.acks === pushed && pushed < 1_000) {
    body.push(Buffer.alloc(256 * 1024))
    pushed++
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(pushed < 1_000, 'the client was slowed down')
  const { error } = await sink.done.promise
  assert.equal(error?.code, 'UPSTREAM_TIMEOUT')
})

test('a server that does not answer in time is abandoned', async (t) => {
  const up = await startRaw(t, () => undefined)
  const timeouts = { connectMs: 60_000, sendMs: 60_000, readMs: 50 }
  assert.equal((await ask(originFor(t, groupOf([server(up.address)]), { timeouts }))).error?.code, 'UPSTREAM_TIMEOUT')
  await up.connections[0]?.closed()
})

test('a server that stalls in the middle of a response is abandoned', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'))
  const timeouts = { connectMs: 60_000, sendMs: 60_000, readMs: 500 }
  const answer = await ask(originFor(t, groupOf([server(up.address)]), { timeouts }))
  assert.equal(answer.error?.code, 'UPSTREAM_CUT')
  assert.equal(answer.body, 'half')
})

test('a receiver that takes its time is not taken for a server that does', async (t) => {
  const up = await startRaw(t, (connection) =>
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n${'x'.repeat(400_000)}`),
  )
  const timeouts = { connectMs: 60_000, sendMs: 60_000, readMs: 200 }
  const sink = new CollectingSink()
  sink.isFull = true
  begin(originFor(t, groupOf([server(up.address)]), { timeouts }), sink)
  await waitFor('the first bytes', () => sink.bytes > 0)
  const due = Date.now() + 500
  await waitFor('several times what the server may take', () => Date.now() > due)
  sink.takeAll()
  assert.equal((await sink.done.promise).error, undefined)
})

test('a receiver that takes its time is not taken for a server that does, also where the request ends meanwhile', async (t) => {
  const up = await startRaw(t, () => undefined)
  const timeouts = { connectMs: 60_000, sendMs: 60_000, readMs: 200 }
  const sink = new CollectingSink()
  sink.isFull = true
  const body = new ManualBody()
  begin(originFor(t, groupOf([server(up.address)]), { timeouts }), sink, { method: 'PUT', body })
  await waitFor('the request', () => up.connections[0]?.received.includes('\r\n\r\n'))
  up.connections[0]?.send(`HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n${'x'.repeat(400_000)}`)
  await waitFor('the first bytes', () => sink.bytes > 0)
  body.push('all')
  body.end()
  await up.connections[0]?.seen('all')
  const due = Date.now() + 500
  await waitFor('several times what the server may take', () => Date.now() > due)
  sink.takeAll()
  assert.equal((await sink.done.promise).error, undefined)
})

test('an answer that came before the connection was closed is heard, though more of the body was to be sent', async (t) => {
  const accepted = Promise.withResolvers<Socket>()
  const refusing = createServer({ pauseOnConnect: true }, accepted.resolve)
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  t.after(() => refusing.close())
  const bound = refusing.address()
  const origin = originFor(t, groupOf([server(`127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`)]))
  const body = new ManualBody()
  const sink = new CollectingSink()
  begin(origin, sink, { method: 'PUT', body })
  const socket = await accepted.promise
  await waitFor('the body to be read', () => body.isRead)
  body.push('unread')
  await new Promise((resolve) => socket.write('HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno', resolve))
  // In one turn: what is written finds the connection closed before the answer has been read.
  socket.destroy()
  body.push('more')
  const { status, body: text, error } = await sink.done.promise
  assert.deepEqual([status, text, error], [413, 'no', undefined])
})

test('the next server is asked after a failure, with the same body', async (t) => {
  const dead = await deadAddress()
  const cut = await startRaw(t, (connection) => connection.socket.destroy())
  const up = await startRaw(t, (connection) => connection.send(OK))
  const origin = originFor(t, groupOf([server(dead), server(cut.address), server(up.address)]))
  const body = new ManualBody(5)
  const sink = new CollectingSink()
  begin(origin, sink, { method: 'PUT', body })
  await waitFor('the body to be read', () => body.isRead)
  body.push('hello')
  body.end()
  assert.equal((await sink.done.promise).status, 200)
  assert.match(up.connections[0]?.received ?? '', /\r\n\r\nhello$/)
})

test('a POST that may have been seen is sent to no other server, unless that is allowed', async (t) => {
  for (const [words, isAsked] of [
    [['error'], false],
    [['error', 'non_idempotent'], true],
  ] as const) {
    const cut = await startRaw(t, (connection) => connection.socket.destroy())
    const up = await startRaw(t, (connection) => connection.send(OK))
    const origin = originFor(t, groupOf([server(cut.address), server(up.address)]), { nextUpstream: parseNextUpstream(words) })
    assert.equal((await ask(origin, { method: 'POST' })).status, isAsked ? 200 : 0)
    assert.equal(up.connections.length, isAsked ? 1 : 0)
  }
})

test('a POST that was never sent is sent to the next server', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const origin = originFor(t, groupOf([server(await deadAddress()), server(up.address)]))
  assert.equal((await ask(origin, { method: 'POST' })).status, 200)
})

test('a response with a listed status makes the next server be tried; the last response always counts', async (t) => {
  const bad = await startRaw(t, (connection) => connection.send('HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nbad'))
  const good = await startRaw(t, (connection) => connection.send(OK))
  const nextUpstream = parseNextUpstream(['http_503'])
  assert.equal((await ask(originFor(t, groupOf([server(bad.address), server(good.address)]), { nextUpstream }))).body, 'ok')
  assert.equal((await ask(originFor(t, groupOf([server(bad.address), server(bad.address)]), { nextUpstream }))).body, 'bad')
  assert.equal((await ask(originFor(t, groupOf([server(bad.address), server(good.address)])))).body, 'bad')
})

test('nothing is retried with "off", nor once the response has begun', async (t) => {
  const good = await startRaw(t, (connection) => connection.send(OK))
  const off = { nextUpstream: parseNextUpstream(['error', 'off']) }
  assert.equal(
    (await ask(originFor(t, groupOf([server(await deadAddress()), server(good.address)]), off))).error?.code,
    'UPSTREAM_UNREACHABLE',
  )
  const half = await startRaw(t, (connection) => {
    connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')
    connection.socket.end()
  })
  assert.equal((await ask(originFor(t, groupOf([server(half.address), server(good.address)])))).error?.code, 'UPSTREAM_CUT')
  assert.equal(good.connections.length, 0)
})

test('a group without a server in service says so', async (t) => {
  const down = groupOf([server('127.0.0.1:1', { isDown: true }), server('127.0.0.1:2', { isDown: true })])
  assert.equal((await ask(originFor(t, down))).error?.code, 'UPSTREAM_NONE_LEFT')
})

test('an address that is none fails as a server would', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  assert.equal((await ask(originFor(t, groupOf([server('nonsense'), server(up.address)])))).body, 'ok')
  assert.equal((await ask(originFor(t, groupOf([server('nonsense')])))).error?.code, 'UPSTREAM_UNREACHABLE')
})

test('a name that has no address is a server that cannot be reached', async (t) => {
  const { error } = await ask(originFor(t, groupOf([server('nowhere.invalid:80')])))
  assert.equal(error?.code, 'UPSTREAM_UNREACHABLE')
})

test('a name is looked up, and all its addresses are tried', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(OK))
  const port = up.address.split(':')[1]
  assert.equal((await ask(originFor(t, groupOf([server(`localhost:${port}`)])))).body, 'ok')
})
