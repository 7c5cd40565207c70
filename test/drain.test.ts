import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, startServer, tempSite } from '@svc/testkit'

const slowPage = `export const dynamic = 'force-dynamic'
export default async function Page() {
  console.log('slow page begins')
  await new Promise((resolve) => setTimeout(resolve, 700))
  return <p>finished</p>
}`

const config = (root: string) => `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`

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

test('SIGTERM lets the request in flight finish, refuses new connections and exits 0', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': slowPage })
  const server = await startServer(t, { config: config(root) })
  const inFlight = fetchHttp(`${server.url}/`, { host: 'one.localhost' })
  await server.child.waitForLine('the page to begin', (line) => line.includes('slow page begins'))
  server.child.signal('SIGTERM')
  const answer = await inFlight
  assert.equal(answer.status, 200)
  assert.match(answer.text, /finished/)
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.equal(await canConnect(server.url), false)
})

test('a second signal cuts what is in flight', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': slowPage.replace('700', '8000') })
  const server = await startServer(t, { config: config(root) })
  const inFlight = fetchHttp(`${server.url}/`, { host: 'one.localhost' }).catch((error: Error) => error)
  await server.child.waitForLine('the page to begin', (line) => line.includes('slow page begins'))
  server.child.signal('SIGTERM')
  await server.child.waitForLine('the drain to begin', (line) => line.includes('"stopping"'))
  server.child.signal('SIGTERM')
  assert.ok((await inFlight) instanceof Error)
  assert.equal((await server.child.exited).code, 0)
})

test('a second server on the same run directory is refused with exit 69', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': slowPage })
  const server = await startServer(t, { config: config(root) })
  const { Child, svcCommand } = await import('@svc/testkit')
  const second = new Child(t, svcCommand, ['serve', '--config', server.configFile ?? ''])
  assert.equal((await second.exited).code, 69, second.stderr)
  assert.match(second.stderr, new RegExp(String(server.ready.pid)))
})
