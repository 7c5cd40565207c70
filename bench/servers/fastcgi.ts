// A FastCGI application that responds to every request with a fixed number of bytes, in one write, and keeps its connections: the
// least that an application can do. The argument is the length of its body.
import { type AddressInfo, createServer } from 'node:net'

const HEAD_BYTES = 8
const STDIN = 5
const STDOUT = 6
const END_REQUEST = 3

function record(type: number, content: Uint8Array): Buffer {
  const head = Buffer.from([1, type, 0, 1, 0, 0, 0, 0])
  head.writeUInt16BE(content.byteLength, 4)
  return Buffer.concat([head, content])
}

const body = 'x'.repeat(Number(process.argv[2] ?? 0))
const answer = Buffer.concat([
  record(STDOUT, Buffer.from(`X-Powered-By: bench\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${body}`)),
  record(STDOUT, Buffer.alloc(0)),
  record(END_REQUEST, Buffer.alloc(HEAD_BYTES)),
])

/** True if the request is complete: its last record is an empty STDIN. */
function isWhole(bytes: Buffer): boolean {
  const last = bytes.byteLength - HEAD_BYTES
  return last >= 0 && bytes[last + 1] === STDIN && bytes.readUInt16BE(last + 4) === 0
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined)
  socket.on('data', (bytes: Buffer) => {
    if (isWhole(bytes)) socket.write(answer)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${(server.address() as AddressInfo).port}`))
