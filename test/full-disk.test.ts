// Campaign: full disks.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { fetchHttp, type Server, startServer, tempDir, tempSite } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

/** A file system of a few megabytes; undefined: this process may not mount one. */
function smallDisk(t: TestContext): string | undefined {
  const dir = tempDir(t, 'disk')
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', dir], { encoding: 'utf8' })
  if (status !== 0) {
    t.skip(`needs the right to mount a tmpfs (root): ${stderr ?? 'no program mount'}`)
    return undefined
  }
  t.after(() => spawnSync('umount', ['--lazy', dir]))
  return dir
}

/** Writes until no byte is left. */
function fill(file: string): void {
  const fd = openSync(file, 'a')
  try {
    for (const bytes of [64 * 1024, 1]) for (;;) if (!couldWrite(fd, bytes)) break
  } finally {
    closeSync(fd)
  }
}

function couldWrite(fd: number, bytes: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(bytes, 'x')) === bytes
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    return false
  }
}

type Content = Readonly<Record<string, unknown>> | Buffer

async function ask(server: Server, method: string, path: string, content: Content = {}) {
  const isJson = !Buffer.isBuffer(content)
  const answer = await fetchHttp(`${server.url}/__svc/admin/api${path}`, {
    method,
    headers: { ...(await bearer('root')), 'content-type': isJson ? 'application/json' : 'application/gzip' },
    // Node.js sends the body of a DELETE without its length.
    ...(method === 'DELETE' ? {} : { body: isJson ? JSON.stringify(content) : content }),
  })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

const maintain = (server: Server, site: string, message: string) =>
  ask(server, 'PUT', `/sites/${site}/maintenance`, { enabled: true, message })

/** Responses that a visitor of each site gets. */
async function visit(server: Server): Promise<string[]> {
  const headers = { accept: 'text/html' }
  const answers = ['one', 'two'].map((site) => fetchHttp(`${server.url}/`, { host: `${site}.localhost`, headers }))
  return (await Promise.all(answers)).map(({ status, text }) => `${status} ${/open|before|meanwhile|after/.exec(text)}`)
}

async function statusWith(server: Server, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetchHttp(`${server.url}/__svc/admin/api/sites`, { headers })).status
}

test('a full state directory loses nothing that was acknowledged, refuses changes clearly, and recovers', async (t) => {
  const state = smallDisk(t)
  if (state === undefined) return
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>open</p>' })
  const sites = ['one', 'two'].map((id) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`)
  const options = { config: `${adminToml}\n${sites.join('\n')}`, env: { SVC_SERVER__STATE_DIR: state, SVC_SERVER__WORKERS: '1' } }
  const archive = gzipSync(randomBytes(200_000))
  const first = await startServer(t, options)
  assert.equal((await maintain(first, 'one', 'before')).status, 200)
  const { json: issued } = await ask(first, 'POST', '/tokens', { username: 'vera', ttl_secs: 600 })
  const { json: ended } = await ask(first, 'POST', '/tokens', { username: 'vera', ttl_secs: 600 })
  assert.equal((await ask(first, 'DELETE', `/tokens/${ended.jti}`)).status, 200)

  const filler = join(state, 'filler')
  fill(filler)
  const refusals = [
    await maintain(first, 'one', 'meanwhile'),
    await maintain(first, 'two', 'meanwhile'),
    await ask(first, 'POST', '/tokens', { username: 'vera', ttl_secs: 600 }),
    await ask(first, 'PUT', '/deploys/upload?site=one', archive),
  ]
  assert.deepEqual(
    refusals.map(({ status, json }) => [status, json.code]),
    [
      [503, 'sup_state'],
      [503, 'sup_state'],
      [503, 'sup_sessions'],
      [507, 'upload_no_space'],
    ],
  )
  for (const { json } of refusals) assert.ok(json.detail.length > 0 && json.request_id.length > 0)
  assert.match(first.child.stderr, /failed to save [^"]*overrides\.json: ENOSPC: no space left on device/)
  const health = await fetchHttp(`${first.url}/__svc/health`)
  assert.deepEqual([health.status, JSON.parse(health.text).checks.disk_space], [503, `degraded: 0.0 % free at ${state}`])
  const held = async (server: Server) => {
    assert.deepEqual(await visit(server), ['503 before', '200 open'])
    assert.deepEqual([await statusWith(server, issued.token), await statusWith(server, ended.token)], [200, 401])
  }
  await held(first)

  process.kill(first.ready.pid, 'SIGKILL')
  await first.child.exited
  const second = await startServer(t, options)
  await held(second)
  rmSync(filler)
  assert.equal((await maintain(second, 'two', 'after')).status, 200)
  assert.equal((await ask(second, 'POST', '/tokens', { username: 'vera', ttl_secs: 600 })).status, 200)
  assert.deepEqual(await visit(second), ['503 before', '503 after'])
})
