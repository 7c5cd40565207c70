import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, fetchHttp, repositoryRoot, type Server, startServer, svcCommand, tempDir, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

const API = '/__svc/admin/api/plugins'

async function ask(url: string, method: string, path: string, body?: unknown) {
  const headers = { ...(await bearer('root')), ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetchHttp(url + path, { method, headers, ...text })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

/** A directory of plugins with the examples. */
class Plugins {
  readonly dir: string

  constructor(t: TestContext) {
    this.dir = join(tempDir(t, 'plugins'), 'plugins')
    mkdirSync(this.dir)
    chmodSync(this.dir, 0o755)
    for (const name of ['10-auth-gate.mjs', '20-headers.mjs']) {
      copyFileSync(join(repositoryRoot, 'examples/plugins', name), join(this.dir, name))
      chmodSync(join(this.dir, name), 0o644)
    }
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.dir, name), text, { mode: 0o644 })
  }
}

/** An upstream whose responses any cache may keep. They say which user asked. */
async function startUpstream(t: TestContext): Promise<string> {
  const upstream = createServer(({ headers }, response) => {
    response.writeHead(200, { 'cache-control': 'public, max-age=600' }).end(`for ${headers['x-user']}`)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  return `127.0.0.1:${(upstream.address() as AddressInfo).port}`
}

async function stateOf({ url }: Pick<Server, 'url'>, name: string) {
  return (await ask(url, 'GET', API)).json.plugins.find((plugin: { name: string }) => plugin.name === name)
}

test('plugins of an operator', async (t) => {
  const plugins = new Plugins(t)
  const root = tempSite(t, { 'public/a.txt': 'a', 'public/internal/b.txt': 'secret' })
  const config = `[server]
listen = "127.0.0.1:0"
workers = 2

${adminToml}
[plugins]
directory = "${plugins.dir}"

[[route_rules]]
pattern = "/api/**"
upstream = "http://${await startUpstream(t)}"

[[sites]]
id = "one"
root = "${root}"
hostnames = ["127.0.0.1"]
`
  const server = await startServer(t, { config })
  const get = (path: string, headers: Record<string, string> = {}) => fetchHttp(server.url + path, { headers })
  const reload = () => ask(server.url, 'POST', '/__svc/admin/api/reload')
  const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`ops:${password}`).toString('base64')}` })

  await t.test('the examples guard paths and set fields, also on what the gate answers', async () => {
    const refused = await get('/internal/b.txt')
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Basic realm="internal"'])
    assert.equal(refused.headers['x-content-type-options'], 'nosniff')
    assert.equal((await get('//internal/%62.txt')).status, 401)
    assert.equal((await get('/internal/b.txt', basic('wrong'))).status, 401)
    const shown = await get('/internal/b.txt', basic('change-me'))
    assert.deepEqual(
      [shown.status, shown.text, shown.headers['referrer-policy']],
      [200, 'secret', 'strict-origin-when-cross-origin'],
    )
    assert.equal((await get('/a.txt')).text, 'a')
    assert.equal((await get('/health')).headers['permissions-policy'], undefined)
  })

  await t.test('are listed and counted', async () => {
    const { status, json } = await ask(server.url, 'GET', API)
    assert.equal(status, 200)
    const listed = json.plugins.map(({ name, version, hooks, state }: Record<string, unknown>) => [name, version, hooks, state])
    assert.deepEqual(listed, [
      ['auth-gate', '1.0.0', ['onRequest'], 'active'],
      ['headers', '1.0.0', ['onResponse'], 'active'],
    ])
    const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
    assert.match(text, /^plugin_invocations_total\{plugin="auth-gate",hook="onRequest"\} [5-9]/m)
    assert.match(text, /^plugin_duration_seconds_bucket\{.*plugin="headers",hook="onResponse".*\} \d/m)
    assert.match(text, /^plugin_errors_total\{plugin="auth-gate"\} 0/m)
  })

  await t.test('can be disabled at run time, over a reload', async () => {
    assert.equal((await ask(server.url, 'PUT', `${API}/none`, { enabled: false })).json.code, 'sup_unknown_plugin')
    const changed = await ask(server.url, 'PUT', `${API}/auth-gate`, { enabled: false })
    assert.deepEqual([changed.status, changed.json.enabled], [200, false])
    assert.equal((await get('/internal/b.txt')).text, 'secret')
    assert.equal((await reload()).json.ok, true)
    assert.equal((await get('/internal/b.txt')).text, 'secret')
    assert.equal((await stateOf(server, 'auth-gate')).state, 'off')
    await ask(server.url, 'PUT', `${API}/auth-gate`, { enabled: true })
    for (let time = 0; time < 8; time++) assert.equal((await get('/internal/b.txt')).status, 401, 'L0 kept nothing')
  })

  await t.test('that fail, hang or hold up the worker are switched off in all workers, and others are served', async () => {
    const hooks = `onRequest(request) {
      if (request.path === '/throw') throw new Error('broken')
      if (request.path === '/hang') return new Promise(() => {})
      if (request.path === '/spin') { const end = performance.now() + 60; while (performance.now() < end); }
    }`
    plugins.write('30-frail.mjs', `export default { name: 'frail', version: '1', timeoutMs: 30, hooks: { ${hooks} } }`)
    assert.equal((await reload()).json.ok, true)
    for (const path of ['/hang', '/spin', '/throw']) {
      assert.equal((await stateOf(server, 'frail')).state, 'active')
      await waitFor(`${path} switches it off`, async () => {
        const [answer, other] = await Promise.all([get(path), get('/health')])
        assert.deepEqual([answer.status, other.status], [404, 200])
        return (await stateOf(server, 'frail')).state === 'disabled'
      })
      const { reason, errors } = await stateOf(server, 'frail')
      assert.match(reason, /^10 failures in a row, the last one: onRequest: (broken|took)/)
      assert.ok(errors >= 10)
      assert.equal((await get('/a.txt')).text, 'a')
      assert.equal((await ask(server.url, 'PUT', `${API}/frail`, { enabled: true })).status, 200)
    }
    rmSync(join(plugins.dir, '30-frail.mjs'))
  })

  await t.test(
    'that change a request keep its response from others, and leave the cache of upstreams alone otherwise',
    async () => {
      const hooks = `onRequest: (request) => request.headers.has('x-who') ? { requestHeaders: { 'x-user': request.headers.get('x-who') } } : undefined`
      plugins.write('30-who.mjs', `export default { name: 'who', version: '1', hooks: { ${hooks} } }`)
      assert.equal((await reload()).json.ok, true)
      for (const who of ['ann', 'bob', 'ann']) {
        const { text, headers } = await get('/api/me', { 'x-who': who })
        assert.equal(text, `for ${who}`)
        assert.match(String(headers['cache-status']), /svc-proxy; fwd=bypass; detail=plugin/)
      }
      const plain = async () => (await get('/api/me', { 'x-user': 'forged' })).text
      assert.equal(await plain(), 'for undefined', 'the gate removes the field of the client')
      await get('/api/me')
      assert.match(String((await get('/api/me')).headers['cache-status']), /svc-proxy; hit/)
      rmSync(join(plugins.dir, '30-who.mjs'))
    },
  )

  await t.test('whose timer throws end their worker with a line that names them, and it is replaced', async () => {
    const hooks = `onRequest(request) { if (request.path === '/crash') setTimeout(() => { throw new Error('from a timer') }) }`
    plugins.write('30-crash.mjs', `export default { name: 'crash', version: '1', hooks: { ${hooks} } }`)
    assert.equal((await reload()).json.ok, true)
    await get('/crash').catch(() => undefined)
    const line = await server.child.waitForLine('the line of the plugin', (text) => /a plugin ends this worker/.test(text))
    assert.equal(JSON.parse(line).plugin, 'crash')
    assert.match(line, /30-crash\.mjs:1/)
    await waitFor(
      'two workers',
      async () => (await ask(server.url, 'GET', '/__svc/admin/api/health').catch(() => undefined))?.status === 200,
    )
    assert.equal((await get('/a.txt')).text, 'a')
    rmSync(join(plugins.dir, '30-crash.mjs'))
  })

  await t.test('that are broken, or that others may change, fail a reload, and those before go on', async () => {
    plugins.write('40-bad.mjs', `export default {\n  name: 'bad',\n  hooks: {`)
    const syntax = await reload()
    assert.equal(syntax.status, 422)
    assert.match(JSON.stringify(syntax.json), /40-bad\.mjs:3: /)
    plugins.write('40-bad.mjs', `\nthrow new Error('not today')`)
    assert.match(JSON.stringify((await reload()).json), /plugin .*40-bad\.mjs:2: not today/)
    rmSync(join(plugins.dir, '40-bad.mjs'))
    chmodSync(plugins.dir, 0o777)
    assert.match(JSON.stringify((await reload()).json), /can be changed by other users \(mode 0777\): chmod go-w it/)
    assert.equal((await get('/internal/b.txt')).status, 401)
  })

  await t.test('are disabled over a restart, which a directory that others may change prevents', async (t) => {
    await ask(server.url, 'PUT', `${API}/auth-gate`, { enabled: false })
    server.child.signal('SIGTERM')
    assert.equal((await server.child.exited).code, 0)
    const args = ['serve', '--config', server.configFile ?? '']
    const refused = new Child(t, svcCommand, args, {})
    assert.equal((await refused.exited).code, 78)
    assert.match(refused.stderr, /plugins\.directory.*can be changed by other users/)
    chmodSync(plugins.dir, 0o755)
    const again = new Child(t, svcCommand, args, {})
    const line = await again.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
    const [url = ''] = JSON.parse(line).listen
    assert.equal((await fetchHttp(`${url}/internal/b.txt`)).text, 'secret')
    assert.equal((await stateOf({ url }, 'auth-gate')).enabled, false)
  })
})
