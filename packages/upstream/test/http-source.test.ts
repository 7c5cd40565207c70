import assert from 'node:assert/strict'
import { responseSourceContract, waitFor } from '@svc/testkit'
import { groupOf, originFor, request, server, startRaw } from './raw-upstream.ts'

/** A part of a chunked body. */
function framed(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

responseSourceContract('an HTTP upstream', {
  // The bytes of one read of the socket.
  maxAheadBytes: 64 << 10,
  async start(t, sink) {
    const up = await startRaw(t, () => undefined)
    originFor(t, groupOf([server(up.address)])).fetch(request(), sink)
    await waitFor('the connection', () => up.connections.length === 1)
    const [connection = assert.fail()] = up.connections
    await connection.seen('\r\n\r\n')
    return {
      head: (status) => connection.send(`HTTP/1.1 ${status} OK\r\nTransfer-Encoding: chunked\r\n\r\n`),
      chunk: (bytes) => connection.send(framed(bytes)),
      end: () => connection.send('0\r\n\r\n'),
      whole: (status, body) =>
        connection.send(`HTTP/1.1 ${status} OK\r\nContent-Length: ${body.byteLength}\r\n\r\n${body.toString('latin1')}`),
      breakOff: () => connection.socket.destroy(),
      isAborted: () => connection.isClosed,
    }
  },
})
