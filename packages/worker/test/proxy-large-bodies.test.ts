import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']
const MB = 1024 * 1024

/** An upstream that takes a little at a time and answers with what it got, as a hash. */
async function startHashing(t: TestContext): Promise<string> {
  const upstream = createServer((asked, answer) => {
    const hash = createHash('sha256')
    asked.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      asked.pause()
      setImmediate(() => asked.resume())
    })
    asked.on('end', () => answer.end(hash.digest('hex')))
  })
  return listening(t, upstream)
}

async function listening(t: TestContext, upstream: Server): Promise<string> {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const bound = upstream.address()
  return `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`
}

function put(port: number, body: Buffer, isChunked: boolean): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const headers = { host: 'a.test', ...(isChunked ? {} : { 'content-length': body.byteLength }) }
  const asked = request({ host: '127.0.0.1', port, method: 'PUT', path: '/', agent: false, headers })
  asked.on('error', reject)
  asked.on('response', (response: IncomingMessage) => {
    response.toArray().then((parts) => resolve(String(Buffer.concat(parts))), reject)
  })
  if (isChunked) for (let from = 0; from < body.byteLength; from += 300_000) asked.write(body.subarray(from, from + 300_000))
  asked.end(isChunked ? undefined : body)
  return promise
}

function slowHash(port: number, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asked = request({ host: '127.0.0.1', port, path, agent: false, headers: { host: 'a.test' } })
  asked.on('error', reject)
  asked.on('response', (response: IncomingMessage) => {
    const hash = createHash('sha256')
    response.on('error', reject)
    response.on('end', () => resolve(hash.digest('hex')))
    response.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      response.pause()
      setImmediate(() => response.resume())
    })
  })
  asked.end()
  return promise
}

for (const engine of engineNames) {
  test(`${engine}: uploads at the same time reach an upstream that is slower than they are, each as it was`, async (t) => {
    const address = await startHashing(t)
    const { port } = await startProxy(t, `client_max_body_size 0; location / { proxy_pass http://${address}; }`, { engine })
    const bodies = [12 * MB, 5 * MB + 1, 70_000, 300, 9 * MB].map((length) => randomBytes(length))
    const got = await Promise.all(bodies.map((body, index) => put(port, body, index % 2 === 1)))
    assert.deepEqual(
      got,
      bodies.map((body) => createHash('sha256').update(body).digest('hex')),
    )
  })
}

for (const engine of engineNames) {
  test(`${engine}: downloads at the same time reach clients that are slower than their upstream, each as it was`, async (t) => {
    const bodies = [12 * MB, 5 * MB + 1, 70_000, 9 * MB].map((length) => randomBytes(length))
    const upstream = createServer((asked, answer) => {
      const body = bodies[Number(asked.url?.slice(1))] ?? Buffer.alloc(0)
      if (Number(asked.url?.slice(1)) % 2 === 0) answer.setHeader('content-length', body.byteLength)
      answer.write(body)
      answer.end()
    })
    const { port } = await startProxy(t, `location / { proxy_pass http://${await listening(t, upstream)}; }`, { engine })
    const got = await Promise.all(bodies.map((_, index) => slowHash(port, `/${index}`)))
    assert.deepEqual(
      got,
      bodies.map((body) => createHash('sha256').update(body).digest('hex')),
    )
  })
}
