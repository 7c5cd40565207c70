import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { HttpExchange } from '@svc/http'
import { moreThanTheKernelHolds, pour } from './engine-stream-contract.ts'
import { startUws } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

const PIECE_BYTES = 100_000
const COUNT = Math.ceil(moreThanTheKernelHolds() / PIECE_BYTES)
const FINAL_CHUNK = '0\r\n\r\n'

/** A client that has asked, and reads nothing. */
async function asking(port: number, path: string, isTls: boolean): Promise<Socket> {
  const options = { port, host: '127.0.0.1' }
  const socket = isTls ? connectTls({ ...options, rejectUnauthorized: false, servername: 'a.test' }) : connect(options)
  await once(socket, isTls ? 'secureConnect' : 'connect')
  socket.on('error', () => undefined)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
  return socket
}

/** Reads until what came behind the head is whole, or the connection ends. */
async function readAll(socket: Socket, isWhole: (bytes: number, tail: string) => boolean): Promise<boolean> {
  let head: string | undefined = ''
  let bytes = 0
  let tail = ''
  socket.on('data', (chunk: Buffer) => {
    let body = chunk
    if (head !== undefined) {
      const before: number = head.length
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) return
      body = chunk.subarray(end + 4 - before)
      head = undefined
    }
    bytes += body.byteLength
    tail = (tail + body.subarray(-FINAL_CHUNK.length).toString('latin1')).slice(-FINAL_CHUNK.length)
    if (isWhole(bytes, tail)) socket.destroy()
  })
  if (!socket.destroyed) await once(socket, 'close')
  return isWhole(bytes, tail)
}

function answer(exchange: HttpExchange): void {
  const isSized = exchange.request.path === '/sized'
  pour(exchange, COUNT, PIECE_BYTES, isSized ? COUNT * PIECE_BYTES : undefined)
}

describe('slow readers', { concurrency: true }, () => {
  for (const isTls of [false, true]) {
    const name = isTls ? 'uws with TLS' : 'uws'
    test(`${name}: a client that takes nothing for longer than the library waits gets all of its answer`, async (t) => {
      const { port, problems } = await startUws(t, answer, isTls ? { tls: anyCertificate(t) } : {})
      const sockets = [await asking(port, '/sized', isTls), await asking(port, '/chunked', isTls)]
      // An idle connection that begins after them is ended by the same timer of the library.
      const later = connect({ port, host: '127.0.0.1' })
      later.on('error', () => undefined)
      await once(later, 'connect')
      await once(later.resume(), 'close')
      const [sized, chunked] = sockets
      assert.ok(sized !== undefined && chunked !== undefined)
      assert.equal(await readAll(sized, (bytes) => bytes === COUNT * PIECE_BYTES), true)
      assert.equal(await readAll(chunked, (_bytes, tail) => tail === FINAL_CHUNK), true)
      assert.deepEqual(problems, [])
    })

    test(`${name}: a client that takes nothing for the idle time is cut`, async (t) => {
      const ended = Promise.withResolvers<boolean>()
      const onExchange = (exchange: HttpExchange) => {
        exchange.onClosed(ended.resolve)
        answer(exchange)
      }
      const { port } = await startUws(t, onExchange, { idleTimeoutMs: 300, ...(isTls ? { tls: anyCertificate(t) } : {}) })
      const socket = await asking(port, '/sized', isTls)
      assert.equal(await ended.promise, true)
      socket.destroy()
    })
  }
})
