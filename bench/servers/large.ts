// An upstream of node:http: GET sends a gigabyte, PUT reads the body, slowly at /slow, and returns its size.
import { createServer } from 'node:http'

const TOTAL_BYTES = 1 << 30
const SLOW_BYTES_PER_MS = 100_000
const piece = Buffer.alloc(1 << 20, 'x')

const server = createServer((request, response) => {
  if (request.method === 'PUT') {
    const isSlow = request.url === '/slow'
    const startedAt = performance.now()
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength
      const aheadMs = isSlow ? bytes / SLOW_BYTES_PER_MS - (performance.now() - startedAt) : 0
      if (aheadMs < 5) return
      request.pause()
      setTimeout(() => request.resume(), aheadMs)
    })
    request.on('end', () => response.end(String(bytes)))
    return
  }
  let left = TOTAL_BYTES
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': TOTAL_BYTES })
  const write = () => {
    while (left > 0) {
      left -= piece.byteLength
      if (!response.write(piece)) {
        response.once('drain', write)
        return
      }
    }
    response.end()
  }
  write()
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
})
