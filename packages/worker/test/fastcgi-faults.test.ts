import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { fetchHttp, waitFor } from '@svc/testkit'
import { RECORD } from '../../upstream/src/fastcgi/record.ts'
import { record, startWire, type WireConnection } from '../../upstream/test/fastcgi-wire.ts'
import { deadAddress } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const END = record(RECORD.endRequest, Buffer.alloc(8))
const out = (text: string) => record(RECORD.stdout, Buffer.from(text))
const answer = (text: string) => [out(`X: y\n\n${text}`), record(RECORD.stdout, Buffer.alloc(0)), END]
const refusal = (status: number) => record(RECORD.endRequest, Buffer.from([0, 0, 0, 0, status, 0, 0, 0]))
/** Keep-connection flags of a connection's requests. */
const flagsOf = ({ records }: WireConnection) => records.filter(({ type }) => type === 1).map(({ content }) => content[2])
const bodyOf = ({ records }: WireConnection) =>
  Buffer.concat(records.filter(({ type }) => type === RECORD.stdin).map(({ content }) => content)).toString()

const port = (server: { readonly port: number }, path = '/') => `http://127.0.0.1:${server.port}${path}`

test('without keepalive each request has a connection of its own, which the application closes', async (t) => {
  const app = await startWire(t, (connection) => connection.send(...answer('ok')))
  const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`)
  for (let i = 0; i < 3; i++) assert.equal((await fetchHttp(port(server))).text, 'ok')
  assert.deepEqual(app.connections.map(flagsOf), [[0], [0], [0]])
  await waitFor('the connections to close', () => app.connections.every(({ isClosed }) => isClosed))
})

test('with keepalive one connection serves all, one after another', async (t) => {
  const app = await startWire(t, (connection, index) => connection.send(...answer(`${index}`)))
  const server = await startProxy(t, 'location / { fastcgi_pass app; }', {
    outside: `upstream app { server ${app.address}; keepalive 4; }`,
  })
  for (const text of ['0', '1', '2']) assert.equal((await fetchHttp(port(server))).text, text)
  assert.deepEqual(app.connections.map(flagsOf), [[1, 1, 1]])
})

test('a kept connection that turns out to be dead is replaced once', async (t) => {
  const app = await startWire(t, (connection, index) => {
    if (index === 0) connection.send(...answer('ok'))
    else connection.socket.destroy()
  })
  const server = await startProxy(t, 'location / { fastcgi_pass app; }', {
    outside: `upstream app { server ${app.address}; keepalive 4; }`,
  })
  assert.equal((await fetchHttp(port(server))).text, 'ok')
  assert.equal((await fetchHttp(port(server))).text, 'ok')
  assert.equal(app.connections.length, 2)
  const post = await fetchHttp(port(server), { method: 'POST', body: 'x' })
  assert.equal(post.status, 502, 'what may have had its effect is not sent again')
})

test('an application that takes no request is passed over for the next one', async (t) => {
  for (const status of [1, 2, 3]) {
    const full = await startWire(t, (connection) => connection.send(refusal(status)))
    const free = await startWire(t, (connection) => connection.send(...answer('from the next')))
    const server = await startProxy(t, 'location / { fastcgi_pass app; }', {
      outside: `upstream app { server ${full.address}; server ${free.address}; }`,
    })
    assert.equal((await fetchHttp(port(server))).text, 'from the next')
    assert.equal(full.connections.length, 1)
  }
})

test('the only application is 502 when it takes no requests or does not exist', async (t) => {
  const full = await startWire(t, (connection) => connection.send(refusal(2)))
  const server = await startProxy(
    t,
    `location / { fastcgi_pass ${full.address}; } location /dead { fastcgi_pass ${await deadAddress()}; }`,
  )
  assert.equal((await fetchHttp(port(server))).status, 502)
  assert.match(server.failures.join('\n'), /502 .*the application is overloaded/)
  assert.equal((await fetchHttp(port(server, '/dead'))).status, 502)
})

test('another application is asked after a status, where that is wanted', async (t) => {
  const ill = await startWire(t, (connection) => connection.send(out('Status: 500\n\nill'), END))
  const well = await startWire(t, (connection) => connection.send(...answer('well')))
  const server = await startProxy(
    t,
    'location / { fastcgi_pass app; fastcgi_next_upstream error http_500; } location /no { fastcgi_pass other; }',
    {
      outside: `upstream app { server ${ill.address}; server ${well.address}; }
        upstream other { server ${ill.address}; server ${well.address}; }`,
    },
  )
  assert.equal((await fetchHttp(port(server))).text, 'well')
  assert.equal((await fetchHttp(port(server, '/no'))).text, 'ill')
})

test('an answer that breaks the protocol behind its head is cut visibly', async (t) => {
  const app = await startWire(t, (connection) => connection.send(out('X: y\n\nbegun')))
  const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`)
  const asked = httpRequest(port(server), { agent: false })
  asked.end()
  const [response] = await once(asked, 'response')
  const closed = new Promise((resolve) => response.on('close', resolve))
  response.on('error', () => undefined)
  await once(response, 'data')
  app.connections[0]?.send(Buffer.from('no record at all'))
  response.resume()
  await closed
  assert.equal(response.complete, false)
})

test('an application gets an abort when its client disconnects', async (t) => {
  const app = await startWire(t, () => undefined)
  const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`)
  const asked = httpRequest(port(server), { agent: false })
  asked.on('error', () => undefined)
  asked.end()
  await waitFor('the request', () => app.connections[0]?.records.some(({ type }) => type === RECORD.stdin))
  asked.destroy()
  await waitFor('the end of the connection', () => app.connections[0]?.isClosed)
  assert.equal(app.connections[0]?.records.at(-1)?.type, RECORD.abortRequest)
})

test('an application that answers before it has read everything gets no more', async (t) => {
  const app = await startWire(t, () => undefined)
  const server = await startProxy(t, `client_max_body_size 0; location / { fastcgi_pass ${app.address}; }`)
  const asked = httpRequest(port(server), { method: 'POST', agent: false })
  asked.on('error', () => undefined)
  asked.end(Buffer.alloc(16 << 20))
  const connection = await waitFor('the beginning of the body', () =>
    app.connections.find(({ received }) => received.length > 65_536),
  )
  connection.socket.pause()
  connection.send(out('Status: 403\n\nno'), END)
  const [response] = await once(asked, 'response')
  assert.equal(response.statusCode, 403)
  response.resume()
  connection.socket.resume()
  await waitFor('the end of the connection', () => connection.isClosed)
})

for (const headers of [{ 'content-length': '10' }, { 'transfer-encoding': 'chunked' }]) {
  const kind = Object.keys(headers).join()
  test(`clients that are slow to send a body hold no application (${kind})`, async (t) => {
    const app = await startWire(t, (connection) => connection.send(...answer(bodyOf(connection))))
    const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`)
    const asked = httpRequest(port(server), { method: 'POST', agent: false, headers })
    asked.write('first')
    assert.equal((await fetchHttp(port(server), { method: 'POST', body: 'other' })).text, 'other')
    assert.equal(app.connections.length, 1)
    asked.end('-last')
    const [response] = await once(asked, 'response')
    let text = ''
    for await (const data of response) text += data
    assert.equal(text, 'first-last')
  })

  test(`a body that breaks off is not sent (${kind})`, async (t) => {
    const app = await startWire(t, (connection) => connection.send(...answer('done')))
    const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`)
    const asked = httpRequest(port(server), { method: 'POST', agent: false, headers })
    asked.on('error', () => undefined)
    await new Promise((resolve) => asked.write('half', resolve))
    asked.destroy()
    assert.equal((await fetchHttp(port(server))).text, 'done')
    assert.equal(app.connections.length, 1)
  })
}

test('an address with variables is a group, an address, or nothing', async (t) => {
  const app = await startWire(t, (connection) => connection.send(...answer('ok')))
  const server = await startProxy(t, 'location / { fastcgi_pass $arg_to; }', {
    outside: `upstream app { server ${app.address}; }`,
  })
  assert.equal((await fetchHttp(port(server, '/?to=app'))).text, 'ok')
  assert.equal((await fetchHttp(port(server, `/?to=${app.address}`))).text, 'ok')
  assert.equal((await fetchHttp(port(server, '/?to='))).status, 502)
  assert.equal((await fetchHttp(port(server, '/?to=nowhere'))).status, 502)
})
