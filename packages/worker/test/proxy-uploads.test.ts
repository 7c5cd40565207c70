import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startProxy } from './proxy-server.ts'
import type { EngineName } from './start-engine.ts'

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
