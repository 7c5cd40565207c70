// An upstream for samples of nginx files: answers with what it saw of a request, over HTTP, FastCGI or uwsgi, on one port.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'

/** Fields and parameters that differ between two servers anyway. */
const OWN =
  /^(?:connection|keep-alive|cdn-loop|content-length|transfer-encoding|via|REMOTE_PORT|SERVER_SOFTWARE|REQUEST_TIME\w*|HTTP_CDN_LOOP|CONTENT_LENGTH|HTTP_CONNECTION)$/

/** @param {Readonly<Record<string, unknown>>} seen */
function textOf(seen) {
  const known = Object.entries(seen).filter(([name]) => !OWN.test(name))
  return `${JSON.stringify(Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1))), undefined, 1)}\n`
}

/** @param {string} body */
function cgiAnswer(body) {
  return `Content-Type: application/json\r\nX-Upstream: recorded\r\nX-Powered-By: test\r\n\r\n${body}`
}

const http = createHttpServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('latin1')
    const text = textOf({ ...request.headers, ':line': `${request.method} ${request.url}`, ':body': body })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    response.writeHead(200, { ...headers, 'X-Upstream': 'recorded', 'X-Powered-By': 'test' })
    response.end(request.method === 'HEAD' ? undefined : text)
  })
  request.on('error', () => response.destroy())
})

/** Reads names and values with lengths of one or four bytes. @param {Buffer} bytes */
function fastcgiParams(bytes) {
  /** @type {Record<string, string>} */
  const params = {}
  let at = 0
  const length = () => {
    const first = bytes[at] ?? 0
    at += first < 0x80 ? 1 : 4
    return first < 0x80 ? first : bytes.readUInt32BE(at - 4) & 0x7fffffff
  }
  while (at < bytes.length) {
    const [name, value] = [length(), length()]
    params[bytes.toString('latin1', at, at + name)] = bytes.toString('latin1', at + name, at + name + value)
    at += name + value
  }
  return params
}

/** @param {number} type @param {number} id @param {Buffer} content */
function record(type, id, content) {
  const head = Buffer.alloc(8)
  head.writeUInt8(1, 0)
  head.writeUInt8(type, 1)
  head.writeUInt16BE(id, 2)
  head.writeUInt16BE(content.length, 4)
  return Buffer.concat([head, content])
}

/** The answer to a FastCGI request; undefined: it is not complete. @param {Buffer} bytes */
function fastcgiAnswer(bytes) {
  const [params, input] = [/** @type {Buffer[]} */ ([]), /** @type {Buffer[]} */ ([])]
  for (let at = 0; at + 8 <= bytes.length; ) {
    const [type, id, length, padding] = [
      bytes[at + 1],
      bytes.readUInt16BE(at + 2),
      bytes.readUInt16BE(at + 4),
      bytes[at + 6] ?? 0,
    ]
    const content = bytes.subarray(at + 8, at + 8 + length)
    if (content.length < length) return undefined
    if (type === 4) params.push(content)
    if (type === 5) input.push(content)
    if (type === 5 && length === 0) {
      const seen = { ...fastcgiParams(Buffer.concat(params)), ':body': Buffer.concat(input).toString('latin1') }
      const output = Buffer.from(cgiAnswer(textOf(seen)), 'latin1')
      return Buffer.concat([record(6, id, output), record(6, id, Buffer.alloc(0)), record(3, id, Buffer.alloc(8))])
    }
    at += 8 + length + padding
  }
  return undefined
}

/** The answer to a uwsgi request; undefined: it is not complete. @param {Buffer} bytes */
function uwsgiAnswer(bytes) {
  const size = bytes.length < 4 ? Number.POSITIVE_INFINITY : bytes.readUInt16LE(1)
  if (bytes.length < 4 + size) return undefined
  /** @type {Record<string, string>} */
  const params = {}
  for (let at = 4; at < 4 + size; ) {
    const name = bytes.readUInt16LE(at)
    const value = bytes.readUInt16LE(at + 2 + name)
    params[bytes.toString('latin1', at + 2, at + 2 + name)] = bytes.toString('latin1', at + 4 + name, at + 4 + name + value)
    at += 4 + name + value
  }
  const bodyBytes = Number(params['CONTENT_LENGTH'] ?? 0)
  if (bytes.length < 4 + size + bodyBytes) return undefined
  const seen = { ...params, ':body': bytes.toString('latin1', 4 + size, 4 + size + bodyBytes) }
  return Buffer.from(`HTTP/1.0 200 OK\r\n${cgiAnswer(textOf(seen))}`, 'latin1')
}

/** Starts it. @returns {Promise<{ port: number, close(): void }>} */
export async function startBackend() {
  const server = createServer((socket) => {
    let bytes = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    const read = (/** @type {Buffer} */ chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      const [first] = bytes
      if (first !== undefined && first > 1) {
        socket.off('data', read)
        http.emit('connection', socket)
        socket.unshift(bytes)
        socket.resume()
        return
      }
      const answer = first === 1 ? fastcgiAnswer(bytes) : uwsgiAnswer(bytes)
      if (answer !== undefined) socket.end(answer)
    }
    socket.on('data', read)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => {
      http.closeAllConnections()
      server.close()
    },
  }
}
