import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { PROCESS_WAIT_MS, startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { CachedOrigin } from './cached-origin.ts'

const SIZES = [1, 1_000, 10_000, 32_768, 32_769, 40_000, 60_000]

/** A body of its own for each path, which does not compress to nothing. */
function bodyOf(path: string): string {
  const size = Number(path.split('-')[1])
  const words = Array.from({ length: Math.ceil(size / 8) }, (_, index) => `${path} ${Math.imul(index, 2_654_435_761) >>> 0};`)
  return words.join('').slice(0, size)
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** @param isSlow begins to read in another turn, when others have been answered */
async function ask(url: string, path: string, headers: Record<string, string>, isSlow = false): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const method = headers['x-method'] ?? 'GET'
  const asked = request({ hostname, port, path, method, headers: { host: 'a.localhost', ...headers }, agent: false }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  if (isSlow) for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
  return { status: response.statusCode ?? 0, headers: response.headers, text: text.toString('latin1') }
}

test('answers from the store that many ask for at once do not get into each other', async (t) => {
  const origin = await CachedOrigin.start(t, ({ url = '' }, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600', 'content-type': 'text/plain', 'x-path': url }).end(bodyOf(url))
  })
  const dir = tempDir(t, 'lent')
  const location = `location / { proxy_pass http://${origin.host}; proxy_cache on; gzip on; }`
  writeFiles(dir, { 'web.conf': `server { listen 127.0.0.1:0; svc_cache_status on; server_name a.localhost; ${location} }` })
  const config = `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n[cache.l0]\nenabled = false\n`
  const { url } = await startServer(t, { config })
  const paths = SIZES.map((size) => `/body-${size}`)
  for (const path of paths) {
    await waitFor(
      `${path} to be stored`,
      async () => /hit/.test(String((await ask(url, path, {})).headers['cache-status'])),
      PROCESS_WAIT_MS,
    )
  }
  const before = paths.map((path) => origin.count(path))
  for (let round = 0; round < 5; round++) {
    const asked = paths.flatMap((path) => [
      { path, wanted: bodyOf(path), status: 200, headers: {}, isSlow: false },
      { path, wanted: bodyOf(path), status: 200, headers: {}, isSlow: true },
      { path, wanted: bodyOf(path), status: 200, headers: { 'accept-encoding': 'gzip' }, isSlow: false },
      { path, wanted: '', status: 200, headers: { 'x-method': 'HEAD' }, isSlow: false },
      ...(path === '/body-1'
        ? []
        : [{ path, wanted: bodyOf(path).slice(5, 900), status: 206, headers: { range: 'bytes=5-899' }, isSlow: true }]),
    ])
    const answers = await Promise.all(asked.map(({ path, headers, isSlow }) => ask(url, path, headers, isSlow)))
    for (const [index, { path, wanted, status, headers }] of asked.entries()) {
      const answer = answers[index]
      const what = `${path} ${JSON.stringify(headers)}`
      assert.equal(answer?.status, status, what)
      assert.equal(answer?.headers['x-path'], path, what)
      assert.match(String(answer?.headers['cache-status']), /svc-proxy; hit; ttl=\d+/, what)
      assert.match(String(answer?.headers.age), /^\d+$/, what)
      assert.ok(answer?.text === wanted, `${what}: another body of ${answer?.text.length} bytes`)
    }
  }
  assert.deepEqual(
    paths.map((path) => origin.count(path)),
    before,
  )
})
