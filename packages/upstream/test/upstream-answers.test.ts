import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tempDir, waitFor } from '@svc/testkit'
import { ask, begin, CollectingSink, groupOf, originFor, server, startRaw } from './raw-upstream.ts'

/** Answers that another parser could read differently, or that are none. Each ends its connection. */
const BAD: Readonly<Record<string, string>> = {
  'two different lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
  'the same length twice': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello',
  'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello',
  'length and chunks': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'another coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'a coding twice': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'an unknown coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nhello',
  'a negative length': 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello',
  'a signed length': 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello',
  'a hexadecimal length': 'HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello',
  'an empty length': 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello',
  'a length without end': `HTTP/1.1 200 OK\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\nhello`,
  'no status line': 'hello, I am no HTTP\r\n\r\n',
  'an answer of HTTP/0.9': '<html>old</html>\n',
  'HTTP/2': 'HTTP/2 200 OK\r\n\r\n',
  'no version': 'HTTP/ 200 OK\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'a status of four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
  'a status over 599': 'HTTP/1.1 600 What\r\nContent-Length: 0\r\n\r\n',
  'a switch of protocols': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n',
  'a folded field': 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n',
  'a field without colon': 'HTTP/1.1 200 OK\r\nContent-Length 5\r\n\r\nhello',
  'a field without name': 'HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 5\r\n\r\nhello',
  'a field name with a space': 'HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 0\r\n\r\n',
  'NUL in a value': 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n',
  'a carriage return in a value': 'HTTP/1.1 200 OK\r\nX-A: a\rb\r\nContent-Length: 0\r\n\r\n',
  'a line feed alone in the head': 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n',
  'line feeds alone': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
  'a head without end': `HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(70_000)}`,
  'too many interim responses': 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(40),
}

for (const [name, bytes] of Object.entries(BAD)) {
  test(`an answer with ${name} is refused, and its connection is not used again`, async (t) => {
    const up = await startRaw(t, (connection) => connection.send(bytes))
    const origin = originFor(t, groupOf([server(up.address)]))
    const { error } = await ask(origin)
    assert.equal(error?.code, 'UPSTREAM_BAD_ANSWER', error?.message)
    await up.connections[0]?.closed()
  })
}

/** Bodies in chunks that break off because their framing is wrong. */
const BAD_CHUNKS: Readonly<Record<string, string>> = {
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a size that is no number': 'xyz\r\nhello\r\n0\r\n\r\n',
  'a size with a sign': '+5\r\nhello\r\n0\r\n\r\n',
  'a size with a prefix': '0x5\r\nhello\r\n0\r\n\r\n',
  'a blank before the size': ' 5\r\nhello\r\n0\r\n\r\n',
  'two sizes in a line': '5 6\r\nhello\r\n0\r\n\r\n',
  'a size that is too large': 'fffffffffffff\r\nhello',
  'a line feed alone behind the size': '5\nhello\r\n0\r\n\r\n',
  'a line feed alone in an extension': '5;a=b\nhello\r\n0\r\n\r\n',
  'a chunk longer than its size': '4\r\nhello\r\n0\r\n\r\n',
  'a chunk that ends with a line feed': '5\r\nhello\n0\r\n\r\n',
  'trailers that are none': '0\r\nno colon\r\n\r\n',
  'a line feed alone in the trailers': '0\r\nx-a: b\n\r\n',
}

for (const [name, chunks] of Object.entries(BAD_CHUNKS)) {
  test(`chunks with ${name} cut the answer, and the connection is not used again`, async (t) => {
    const up = await startRaw(t, (connection) =>
      connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`),
    )
    const origin = originFor(t, groupOf([server(up.address)]))
    const { error, status } = await ask(origin)
    assert.equal(status, 200)
    assert.equal(error?.code, 'UPSTREAM_CUT', error?.message)
    await up.connections[0]?.closed()
  })
}

/** Good answers: status, body, trailers. */
const GOOD: Readonly<Record<string, readonly [bytes: string, status: number, body: string, keeps: boolean]>> = {
  'a length': ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello', true],
  'no reason': ['HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 200, 'ok', true],
  'no body': ['HTTP/1.1 204 No Content\r\n\r\n', 204, '', true],
  '304 with a length': ['HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n', 304, '', true],
  chunks: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x="y"\r\nlo\r\n0\r\n\r\n', 200, 'hello', true],
  'chunks in capitals': [
    'HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\nA \r\n0123456789\r\n0\r\n\r\n',
    200,
    '0123456789',
    true,
  ],
  'a blank before the colon': ['HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello', 200, 'hello', true],
  'Connection: close': ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello', false],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello', false],
  'HTTP/1.0 that stays': ['HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello', true],
  'interim answers': [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    200,
    'hello',
    true,
  ],
}

for (const [name, [bytes, status, body, keeps]] of Object.entries(GOOD)) {
  for (const pace of ['at once', 'byte by byte'] as const) {
    test(`an answer with ${name} is read when it comes ${pace}`, async (t) => {
      const up = await startRaw(t, (connection) => {
        if (pace === 'at once') connection.send(bytes)
        else for (const byte of Buffer.from(bytes, 'latin1')) connection.send(Buffer.of(byte))
      })
      const origin = originFor(t, groupOf([server(up.address)]))
      const first = await ask(origin)
      assert.equal(first.error, undefined)
      assert.equal(first.status, status)
      assert.equal(first.body, body)
      if (!keeps) await up.connections[0]?.closed()
      assert.equal((await ask(origin)).body, body)
      assert.equal(up.connections.length, keeps ? 1 : 2)
    })
  }
}

test('a body without framing ends with the connection', async (t) => {
  const up = await startRaw(t, (connection) => {
    connection.send('HTTP/1.1 200 OK\r\n\r\nall there is')
    connection.socket.end()
  })
  const answer = await ask(originFor(t, groupOf([server(up.address)])))
  assert.equal(answer.error, undefined)
  assert.equal(answer.body, 'all there is')
})

test('a body that is shorter than its length is cut', async (t) => {
  const up = await startRaw(t, (connection) => {
    connection.send('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nnot all')
    connection.socket.end()
  })
  const answer = await ask(originFor(t, groupOf([server(up.address)])))
  assert.equal(answer.error?.code, 'UPSTREAM_CUT')
  assert.equal(answer.body, 'not all')
})

test('chunks without an end are cut', async (t) => {
  const up = await startRaw(t, (connection) => {
    connection.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    connection.socket.end()
  })
  assert.equal((await ask(originFor(t, groupOf([server(up.address)])))).error?.code, 'UPSTREAM_CUT')
})

test('a body that is reset is cut, also without framing', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\n\r\npart'))
  const origin = originFor(t, groupOf([server(up.address)]))
  const sink = new CollectingSink()
  begin(origin, sink)
  await waitFor('the part', () => sink.bytes === 4)
  up.connections[0]?.socket.resetAndDestroy()
  assert.equal((await sink.done.promise).error?.code, 'UPSTREAM_CUT')
})

test('HEAD has no body, regardless of the fields', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n'))
  const origin = originFor(t, groupOf([server(up.address)]))
  for (let round = 0; round < 2; round++) {
    const answer = await ask(origin, { method: 'HEAD' })
    assert.equal(answer.length, 1234)
    assert.equal(answer.body, '')
  }
  assert.equal(up.connections.length, 1)
})

test('bytes behind a response reach no other request', async (t) => {
  const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'
  const up = await startRaw(t, (connection, _request, index) => {
    if (index === 0) connection.send(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood${forged}`)
  })
  const origin = originFor(t, groupOf([server(up.address)]))
  assert.equal((await ask(origin)).body, 'good')
  await up.connections[0]?.closed()
  assert.equal((await ask(origin)).body, 'good')
  assert.equal(up.connections.length, 2)
})

test('data from a server on an idle connection closes it', async (t) => {
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'))
  const origin = originFor(t, groupOf([server(up.address)]))
  await ask(origin)
  up.connections[0]?.send('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n')
  await up.connections[0]?.closed()
  assert.equal((await ask(origin)).status, 200)
})

test('fields of the connection stay on it, with those that Connection names', async (t) => {
  const fields = [
    'Connection: keep-alive, X-Hop',
    'Keep-Alive: timeout=5',
    'X-Hop: 1',
    'Upgrade: h2c',
    'Trailer: x',
    'Proxy-Connection: a',
  ]
  const up = await startRaw(t, (connection) => {
    connection.send(
      ['HTTP/1.1 200 OK', ...fields, 'X-End: 2', 'Set-Cookie: a=b', 'Set-Cookie: c=d', 'Content-Length: 0', '', ''].join('\r\n'),
    )
  })
  const answer = await ask(originFor(t, groupOf([server(up.address)])))
  assert.deepEqual(answer.headers, [
    ['x-end', '2'],
    ['set-cookie', 'a=b'],
    ['set-cookie', 'c=d'],
  ])
})

test('trailers come behind the body, without those that are dangerous there', async (t) => {
  const chunks = '5\r\nhello\r\n0\r\nX-Sum: abc\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b\r\n\r\n'
  const up = await startRaw(t, (connection) => connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`))
  const answer = await ask(originFor(t, groupOf([server(up.address)])))
  assert.equal(answer.body, 'hello')
  assert.deepEqual(answer.trailers, [['x-sum', 'abc']])
})

test('early hints are passed on, 100 is not', async (t) => {
  const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'
  const up = await startRaw(t, (connection) => connection.send(`${interim}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`))
  const answer = await ask(originFor(t, groupOf([server(up.address)])))
  assert.deepEqual(answer.informational, [{ status: 103, headers: [['link', '</a.css>']] }])
})

test('each chunk is passed on when it comes, not when there are more', async (t) => {
  const up = await startRaw(t, (connection) => {
    connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n')
  })
  const sink = new CollectingSink()
  begin(originFor(t, groupOf([server(up.address)])), sink)
  await waitFor('the head', () => sink.status === 200)
  for (let i = 0; i < 5; i++) {
    up.connections[0]?.send('8\r\ndata: 1\n\r\n')
    await waitFor(`event ${i}`, () => sink.bytes === (i + 1) * 8)
  }
  up.connections[0]?.send('0\r\n\r\n')
  assert.equal((await sink.done.promise).error, undefined)
})

test('chunks that come together are passed on together, however many they are', async (t) => {
  const chunks = Array.from({ length: 2_000 }, (_, index) => String(index))
  const framed = chunks.map((text) => `${text.length.toString(16)};x\r\n${text}\r\n`).join('')
  const up = await startRaw(t, (connection) =>
    connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${framed}0\r\n\r\n`),
  )
  const sink = new CollectingSink()
  begin(originFor(t, groupOf([server(up.address)])), sink)
  assert.equal((await sink.done.promise).body, chunks.join(''))
  assert.ok(sink.chunks.length < 100, `${sink.chunks.length} pieces`)
})

test('a receiver that holds its acknowledgements holds up the server', async (t) => {
  const size = 64 * 1024 * 1024
  const otherSize = 4 * 1024 * 1024
  let isDrained = false
  const up = await startRaw(t, (connection) => {
    const isFirst = connection === up.connections[0]
    const length = isFirst ? size : otherSize
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
    connection.send(Buffer.alloc(length))
    connection.socket.on('drain', () => {
      if (isFirst) isDrained = true
    })
  })
  const origin = originFor(t, groupOf([server(up.address)]))
  const sink = new CollectingSink()
  sink.isFull = true
  begin(origin, sink)
  await waitFor('the first bytes', () => sink.bytes > 0)
  // Were it not held up, as much of it would have come as of another answer, which came meanwhile from its head to its end.
  const other = new CollectingSink()
  begin(origin, other)
  assert.equal((await other.done.promise).body.length, otherSize)
  assert.ok(sink.bytes < 256 * 1024, `${sink.bytes} bytes came`)
  assert.equal(isDrained, false)
  sink.takeAll()
  assert.equal((await sink.done.promise).body.length, size)
})

test('an upstream on a unix socket', async (t) => {
  const dir = tempDir(t)
  const up = await startRaw(t, (connection) => connection.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix'), { dir })
  assert.equal((await ask(originFor(t, groupOf([server(up.address)])))).body, 'unix')
})

test('a client that goes away takes its request with it', async (t) => {
  const up = await startRaw(t, () => undefined)
  const sink = new CollectingSink()
  const handle = begin(originFor(t, groupOf([server(up.address)])), sink)
  await waitFor('the connection', () => up.connections.length === 1)
  await up.connections[0]?.seen('\r\n\r\n')
  handle.abort()
  handle.abort()
  await up.connections[0]?.closed()
})
