import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { serverNameIn } from '../src/node/client-hello.ts'

/** The first bytes of a client. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  client.on('error', () => undefined)
  try {
    const [socket] = (await once(server, 'connection')) as [Socket]
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return bytes
  } finally {
    client.destroy()
    server.close()
  }
}

/** The same message in records of so many bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const records: Buffer[] = []
  for (let at = 5; at < hello.byteLength; at += size) {
    const piece = hello.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, piece.byteLength >> 8, piece.byteLength & 255]), piece)
  }
  return Buffer.concat(records)
}

test('the server name is read once the message is whole, however it is cut', async () => {
  const hello = await helloOf({ servername: 'Shop.Example.org', ALPNProtocols: ['h2', 'http/1.1'] })
  for (let end = 0; end < hello.byteLength; end++) assert.equal(serverNameIn(hello.subarray(0, end)), undefined, `${end}`)
  assert.equal(serverNameIn(hello), 'shop.example.org')
  assert.equal(serverNameIn(Buffer.concat([hello, Buffer.from('more')])), 'shop.example.org')
  for (const size of [1, 7, 100]) assert.equal(serverNameIn(inRecords(hello, size)), 'shop.example.org', `records of ${size}`)
  assert.equal(serverNameIn(await helloOf({ servername: '', maxVersion: 'TLSv1.2' })), '')
})

test('bytes that are no ClientHello have no name, and none are waited for without end', async () => {
  const hello = await helloOf({ servername: 'a.test' })
  for (const [at, byte] of [
    [0, 23],
    [5, 2],
  ] as const) {
    const wrong = Buffer.from(hello)
    wrong[at] = byte
    assert.equal(serverNameIn(wrong), '', `byte ${at}`)
  }
  assert.equal(serverNameIn(Buffer.from('GET / HTTP/1.1\r\n\r\n')), '')
  const long = Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255])
  assert.equal(serverNameIn(long), '')
  assert.equal(serverNameIn(Buffer.concat(Array.from({ length: 4000 }, () => Buffer.from([22, 3, 1, 0, 0])))), '')
  // Lengths that lie: every byte of the message, wrong one after the other.
  for (let at = 9; at < hello.byteLength; at++) {
    const wrong = Buffer.from(hello)
    wrong[at] = (wrong[at] ?? 0) ^ 0xff
    assert.equal(typeof serverNameIn(wrong), 'string', `byte ${at}`)
  }
})
