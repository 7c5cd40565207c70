import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startServer, tempSite, waitFor } from '@svc/testkit'

const site = {
  'app/page.tsx': 'export default function Page() { return <p>home</p> }',
  'app/taken/route.ts': 'export const POST = async (request) => new Response(await request.text())',
}

/** Sends text as it is and reads until the connection ends. */
async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(text)
  let received = ''
  for await (const chunk of socket) received += chunk
  return received
}

test('requests that never reach a site are counted and in the access log, once', async (t) => {
  const places = `[[sites]]\nid = "a"\nhostnames = ["a.localhost"]\nroot = "${tempSite(t, site)}"\n`
  const config = `[server]\nlisten = "127.0.0.1:0"\nmax_body_bytes = 1000\n\n[logging]\nlevel = "debug"\naccess = true\n\n${places}`
  const server = await startServer(t, { config })
  const line = (status: number) => new RegExp(`"method":"[A-Z]+","path":"/[a-z]*","status":${status}\\b`, 'g')
  assert.match(await raw(server.url, 'GET /odd HTTP/1.1\r\nHost: a b\r\n\r\n'), /^HTTP\/1\.1 400 /)
  assert.match(await raw(server.url, 'PUT /taken HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n'), /^HTTP\/1\.1 413 /)
  // This one is in the hands of the site when it becomes too long.
  const body = `${'5\r\nhello\r\n'.repeat(400)}0\r\n\r\n`
  const long = `POST /taken HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
  assert.match(await raw(server.url, long), /^HTTP\/1\.1 413 /)
  const metrics = await waitFor(
    'all three in the metrics',
    async () => {
      const { text } = await fetchHttp(`${server.url}/metrics`)
      return ['"GET",status="400"', '"PUT",status="413"', '"POST",status="413"'].every((one) => text.includes(one)) && text
    },
    PROCESS_WAIT_MS,
  )
  assert.match(metrics, /^http_requests_total\{method="GET",status="400",path_group="other"\} 1$/m)
  assert.match(metrics, /^http_requests_total\{method="PUT",status="413",path_group="other"\} 1$/m)
  assert.match(metrics, /^http_requests_total\{method="POST",status="413",path_group="[^"]+"\} 1$/m)
  await waitFor(
    'all three in the access log',
    () => {
      const lines = server.child.stdout
      return (lines.match(line(400)) ?? []).length === 1 && (lines.match(line(413)) ?? []).length === 2
    },
    PROCESS_WAIT_MS,
  )
})
