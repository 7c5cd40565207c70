import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, fetchHttp, PROCESS_WAIT_MS, startServer, svcCommand, tempDir, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { reloaded } from './control.ts'

/** Asks over a unix socket. */
function askSocket(socketPath: string, host: string, path = '/'): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const asked = request({ socketPath, path, headers: { host }, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (data: string) => {
      text += data
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    response.on('error', reject)
  })
  asked.on('error', reject).end()
  return promise
}

/** Returns true if the address accepts a new connection. */
function isOpen(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port })
  socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

async function listenOf(configFile: string): Promise<string[]> {
  const t = { after: () => undefined }
  const status = new Child(t, svcCommand, ['status', '--json', '--config', configFile])
  await status.exited
  return (JSON.parse(status.stdout) as { listen: string[] }).listen
}

test('addresses of vhost files are opened and closed by reloads, while the others go on', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default function Page() { return <p>the application</p> }' })
  const dir = tempDir(t, 'vhosts')
  const socket = join(dir, 'web.sock')
  const vhosts = (text: string) => writeFiles(dir, { 'a.conf': text })
  const first = `server { listen 127.0.0.1:0; server_name app.test; svc_app ${root}; }`
  const onSocket = `server { listen unix:${socket}; server_name files.test; return 200 "on a socket"; }`
  vhosts(`${first}\n${onSocket}`)
  const server = await startServer(t, { config: `[server]\nworkers = 2\nvhosts = ["${dir}/*.conf"]\n` })
  assert.deepEqual(server.ready.listen, [server.url, `http://unix:${socket}`])
  assert.equal(server.ready.sites, 2)
  assert.match((await fetchHttp(`${server.url}/`, { host: 'app.test' })).text, /the application/)
  assert.deepEqual(await askSocket(socket, 'files.test'), { status: 200, text: 'on a socket' })
  assert.equal(statSync(socket).mode & 0o777, 0o666)

  const configFile = server.configFile ?? ''
  vhosts(`${first}\nserver { listen 127.0.0.2:0; server_name files.test; return 200 "on another address"; }`)
  await reloaded(server)
  assert.ok(!existsSync(socket))
  const [kept, added, ...rest] = await listenOf(configFile)
  assert.deepEqual([kept, rest], [server.url, []])
  assert.match(added ?? '', /^http:\/\/127\.0\.0\.2:\d+$/)
  assert.equal((await fetchHttp(`${added}/`, { host: 'files.test' })).text, 'on another address')
  assert.match((await fetchHttp(`${server.url}/`, { host: 'app.test' })).text, /the application/)

  vhosts(`${first}\n${onSocket}`)
  await reloaded(server)
  assert.deepEqual(await listenOf(configFile), [server.url, `http://unix:${socket}`])
  assert.equal((await askSocket(socket, 'files.test')).text, 'on a socket')
  const { port } = new URL(added ?? '')
  await waitFor(
    'the address to be closed',
    async () => ((await isOpen('127.0.0.2', Number(port))) ? undefined : true),
    PROCESS_WAIT_MS,
  )
  assert.equal((await server.child.stop()).code, 0)
  assert.ok(!existsSync(socket))
})

test('a socket that a killed server left behind is taken over, a file of another kind is not', async (t) => {
  const dir = tempDir(t, 'vhosts')
  const socket = join(dir, 'web.sock')
  writeFiles(dir, { 'a.conf': `server { listen unix:${socket}; return 200 "again"; }` })
  const left = new Child(t, process.execPath, [
    '-e',
    `require('net').createServer().listen('${socket}', () => console.log('up'))`,
  ])
  await left.waitForLine('the socket', (line) => line === 'up')
  await left.kill()
  assert.ok(existsSync(socket))
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n` })
  assert.equal((await askSocket(socket, 'any')).text, 'again')
  await server.child.stop()
  writeFileSync(socket, 'mine')
  await assert.rejects(
    startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n` }),
    /cannot listen on unix:.*the path is a file of another kind/,
  )
  assert.ok(existsSync(socket))
})

test('vhost files with mistakes are refused by start and reload, each with its place', async (t) => {
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'a.conf': 'server { listen 127.0.0.1:0; return 200 "served"; }' })
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n` })
  writeFiles(dir, { 'a.conf': 'server { listen 127.0.0.1:0;\nrot /x;\nreturn 200 "never"; }', 'b.conf': 'server {' })
  const reload = new Child(t, svcCommand, ['reload', '--config', server.configFile ?? ''])
  assert.equal((await reload.exited).code, 78)
  assert.match(reload.stderr, /a\.conf:2:1: unknown directive "rot".*b\.conf:1:9: unexpected end of file, expecting "}"/s)
  assert.equal((await fetchHttp(`${server.url}/`)).text, 'served')
  const start = new Child(t, svcCommand, ['serve', '--config', server.configFile ?? ''])
  assert.equal((await start.exited).code, 78)
  assert.match(start.stderr, /b\.conf:1:9: unexpected end of file/)
})
