import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Child, fetchHttp, PROCESS_WAIT_MS, startServer, svcCommand, tempSite, waitFor } from '@svc/testkit'

const sources = {
  'app/page.tsx': `export const dynamic = 'force-dynamic'
export default async function Page() {
  console.log('endless page begins')
  await new Promise(() => undefined)
}`,
  'app/echo/route.ts': `export async function POST(request) {
  console.log('echo begins')
  return new Response(await request.text())
}`,
}

const config = (root: string) =>
  `[render]\ntimeout_ms = 120000\n\n[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`

function canConnect(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

test('SIGTERM refuses new connections, lets the request in flight finish and exits 0', async (t) => {
  const server = await startServer(t, { config: config(tempSite(t, sources)) })
  const request = httpRequest(`${server.url}/echo`, { agent: false, method: 'POST', headers: { host: 'one.localhost' } })
  const answered = once(request, 'response')
  request.write('fini')
  await server.child.waitForLine('the handler to begin', (line) => line.includes('echo begins'))
  server.child.signal('SIGTERM')
  await waitFor('connections to be refused', async () => !(await canConnect(server.url)), PROCESS_WAIT_MS)
  request.end('shed')
  const [response] = (await answered) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  assert.equal((await response.toArray()).join(''), 'finished')
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
})

test('a second signal cuts what is in flight', async (t) => {
  const server = await startServer(t, { config: config(tempSite(t, sources)) })
  const inFlight = fetchHttp(`${server.url}/`, { host: 'one.localhost' }).catch((error: Error) => error)
  await server.child.waitForLine('the page to begin', (line) => line.includes('endless page begins'))
  server.child.signal('SIGTERM')
  await server.child.waitForLine('the drain to begin', (line) => line.includes('"stopping"'))
  server.child.signal('SIGTERM')
  assert.ok((await inFlight) instanceof Error)
  assert.equal((await server.child.exited).code, 0)
})

test('a second server on the same run directory is refused with exit 69', async (t) => {
  const server = await startServer(t, { config: config(tempSite(t, sources)) })
  const second = new Child(t, svcCommand, ['serve', '--config', server.configFile ?? ''])
  assert.equal((await second.exited).code, 69, second.stderr)
  assert.match(second.stderr, new RegExp(String(server.ready.pid)))
})
