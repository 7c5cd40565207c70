import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startServer, talk, tempSite, waitFor } from '@svc/testkit'

const sources = {
  'app/page.tsx': 'export const revalidate = 60\nexport default function Page() { return <p>kept page</p> }\n',
  'app/echo/route.ts': 'export async function POST(request: Request) { return new Response(await request.text()) }\n',
  'app/stream/route.ts': `export const dynamic = 'force-dynamic'
export function GET() {
  let at = 0
  return new Response(new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode(String(at % 10).repeat(10_000)))
      if (++at === 100) controller.close()
    },
  }))
}`,
  'public/file.txt': 'a file',
}

const config = (root: string) =>
  `[server]\nlisten = "127.0.0.1:0"\nengine = "node"\nworkers = 2\nidle_timeout_secs = 1\n\n[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`

test('the product on engine node: pages from the caches, bodies, streams, files, HTTP/1.0, idle connections', async (t) => {
  const server = await startServer(t, { config: config(tempSite(t, sources)) })
  const host = 'one.localhost'
  const ask = (path: string, options = {}) => fetchHttp(`${server.url}${path}`, { host, ...options })
  for (const _ of [1, 2, 3]) assert.match((await ask('/')).text, /kept page/)
  // Each worker takes it into its own L0 sooner or later.
  await waitFor(
    'an answer from L0',
    async () => /hit/.test(String((await ask('/')).headers['cache-status'] ?? '')),
    PROCESS_WAIT_MS,
  )
  assert.equal((await ask('/echo', { method: 'POST', body: 'x'.repeat(300_000) })).text.length, 300_000)
  assert.equal((await ask('/stream')).text.length, 1_000_000)
  assert.equal((await ask('/file.txt')).text, 'a file')
  assert.equal((await ask('/none')).status, 404)
  // Both know HTTP/1.0, and the idle time of one second ends the second connection.
  const old = await talk(
    connect(Number(new URL(server.url).port), '127.0.0.1'),
    `GET /file.txt HTTP/1.0\r\nHost: ${host}\r\n\r\n`,
  )
  assert.match(old, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\na file$/)
  assert.match(
    await talk(connect(Number(new URL(server.url).port), '127.0.0.1'), `GET /file.txt HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
    /a file$/,
  )
  server.child.signal('SIGTERM')
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
})
