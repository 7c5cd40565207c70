import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyBelow, openBelow, tempDir, waitFor } from '@svc/testkit'
import { RECORD } from '../../upstream/src/fastcgi/record.ts'
import { record, startWire } from '../../upstream/test/fastcgi-wire.ts'
import { startProxy } from './proxy-server.ts'

/** More than all that sockets of the system take. */
const BYTES = 24 << 20
const PIECE = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index % 251))
const END = record(RECORD.endRequest, Buffer.alloc(8))

function bodyRecords(bytes: number): Buffer {
  const records: Buffer[] = []
  for (let left = bytes; left > 0; left -= PIECE.byteLength) records.push(record(RECORD.stdout, PIECE.subarray(0, left)))
  return Buffer.concat(records)
}

const head = record(RECORD.stdout, Buffer.from('Content-Type: a/b\n\n'))
const wanted = createHash('sha1')
for (let left = BYTES; left > 0; left -= PIECE.byteLength) wanted.update(PIECE.subarray(0, left))
const hash = wanted.digest('hex')

async function startSlow(t: Parameters<typeof startProxy>[0], engine: 'uws' | 'node', body = '', dir = tempDir(t, 'slow')) {
  const app = await startWire(t, () => undefined)
  const server = await startProxy(t, `location / { fastcgi_pass ${app.address}; }`, {
    engine,
    config: `state_dir = ${JSON.stringify(dir)}`,
  })
  const asked = httpRequest(`http://127.0.0.1:${server.port}/`, { agent: false, method: body === '' ? 'GET' : 'POST' })
  asked.on('error', () => undefined)
  asked.end(body)
  const connection = await waitFor('the request', () =>
    app.connections.find(({ records }) => records.some(({ type, content }) => type === RECORD.stdin && content.byteLength === 0)),
  )
  connection.send(head)
  return { app, server, asked, connection, bodies: join(dir, 'bodies') }
}

/** The answer to a client that has read nothing of its body. */
async function answerTo(asked: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return response
}

async function hashOf(response: IncomingMessage): Promise<string> {
  const seen = createHash('sha1')
  for await (const data of response) seen.update(data)
  return seen.digest('hex')
}

for (const engine of ['uws', 'node'] as const) {
  test(`a client that is slow to read holds no application (${engine})`, async (t) => {
    const { asked, connection, bodies } = await startSlow(t, engine)
    connection.send(bodyRecords(BYTES), END)
    const response = await answerTo(asked)
    await waitFor('the connection to the application to end', () => connection.isClosed)
    assert.equal(openBelow(bodies).length, 1)
    assert.equal(await hashOf(response), hash)
    await waitFor('the file to be closed', () => openBelow(bodies).length === 0)
  })
}

test('data that arrives after a client has caught up is not mixed up with queued data', async (t) => {
  const { asked, connection, bodies } = await startSlow(t, 'uws', 'x')
  const all = bodyRecords(BYTES)
  const seen = createHash('sha1')
  let received = 0
  const arrived = new EventEmitter()
  const untilReceived = async (bytes: number) => {
    while (received < bytes) await once(arrived, 'data')
  }
  connection.send(all.subarray(0, BYTES / 2))
  const response = await answerTo(asked)
  await waitFor('the file', () => openBelow(bodies).length === 1)
  response.on('data', (data: Buffer) => {
    seen.update(data)
    received += data.byteLength
    arrived.emit('data')
  })
  // Records cut somewhere: their heads are not of the body.
  await untilReceived(BYTES / 2 - PIECE.byteLength)
  for (let at = BYTES / 2; at < BYTES / 2 + 500_000; at += 50_000) {
    connection.send(all.subarray(at, at + 50_000))
    await untilReceived(at - PIECE.byteLength - 8000)
  }
  response.pause()
  connection.send(all.subarray(BYTES / 2 + 500_000), END)
  response.resume()
  await once(response, 'end')
  assert.deepEqual([seen.digest('hex'), received], [hash, BYTES])
})

test('a slow client that leaves leaves no file behind', async (t) => {
  const { asked, connection, bodies } = await startSlow(t, 'uws')
  connection.send(bodyRecords(BYTES), END)
  const response = await answerTo(asked)
  response.on('error', () => undefined)
  await waitFor('the connection to the application to end', () => connection.isClosed)
  assert.equal(openBelow(bodies).length, 1)
  asked.destroy()
  await waitFor('the file to be closed', () => openBelow(bodies).length === 0)
})

test('an answer whose file has lost what was in it is cut', async (t) => {
  const { asked, connection, bodies, server } = await startSlow(t, 'uws')
  connection.send(bodyRecords(BYTES), END)
  const response = await answerTo(asked)
  response.on('error', () => undefined)
  await waitFor('the connection to the application to end', () => connection.isClosed)
  emptyBelow(bodies)
  const closed = new Promise((resolve) => response.on('close', resolve))
  response.resume()
  await closed
  assert.equal(response.complete, false)
  assert.match(server.failures.join(), /truncated/)
  await waitFor('the file to be closed', () => openBelow(bodies).length === 0)
})

test('the application waits when no file can be written', async (t) => {
  const dir = tempDir(t, 'slow')
  writeFileSync(join(dir, 'bodies'), 'no directory')
  const { asked, connection } = await startSlow(t, 'uws', '', dir)
  connection.send(bodyRecords(BYTES), END)
  const response = await answerTo(asked)
  assert.equal(await hashOf(response), hash)
})
