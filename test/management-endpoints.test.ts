import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { fetchHttp, type HttpOptions, type Server, startServer, tempSite, waitFor } from '@svc/testkit'
import { fileCleanup } from './file-cleanup.ts'

const page = `
export const revalidate = 3600
export default function Page() { return <p id="made">{crypto.randomUUID()}</p> }`

/** For all tests. The last one changes the configuration. */
const cleanup = fileCleanup()
let server: Server
before(async () => {
  const root = tempSite(cleanup, {
    'app/page.tsx': page,
    'app/about/page.tsx': page,
    'app/api/status/route.ts': 'export const GET = () => new Response("own")',
  })
  const sites = ['one', 'two'].map((id) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`)
  server = await startServer(cleanup, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n[admin]\njwt_secret = "0123456789abcdef0123456789abcdef"\n[endpoints]\nadmin = true\n\n${sites.join('\n')}`,
  })
})

async function ask(server: Server, method: string, path: string, body?: unknown, options: HttpOptions = {}) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetchHttp(server.url + path, { method, headers, ...text, ...options })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

async function madeOf(server: Server, path: string, host = 'one.localhost'): Promise<string> {
  const { status, text } = await fetchHttp(server.url + path, { host })
  assert.equal(status, 200, text)
  return /<p id="made">([^<]+)<\/p>/.exec(text)?.[1] ?? assert.fail(text)
}

test('an invalidation by site, path or tag is seen by the next request, and by no other page or site', async () => {
  const [home, about, other] = [
    await madeOf(server, '/'),
    await madeOf(server, '/about'),
    await madeOf(server, '/', 'two.localhost'),
  ]
  const byPath = await ask(server, 'POST', '/__svc/api/invalidate', { host: 'one.localhost', paths: ['/'] })
  assert.deepEqual([byPath.status, byPath.json.layer, byPath.json.also.isr], [200, 'all', 1])
  assert.notEqual(await madeOf(server, '/'), home)
  assert.equal(await madeOf(server, '/about'), about)
  assert.equal(await madeOf(server, '/', 'two.localhost'), other)
  const bySite = await ask(server, 'POST', '/__svc/api/invalidate', { site: 'two' })
  assert.equal(bySite.json.also.isr, 1)
  assert.notEqual(await madeOf(server, '/', 'two.localhost'), other)
  assert.equal((await ask(server, 'POST', '/__svc/api/invalidate', {})).json.code, 'invalid_request')
})

test('a revalidation renders stored pages again, without a request for them', async () => {
  const before = await madeOf(server, '/')
  await madeOf(server, '/about')
  const answer = await ask(server, 'POST', '/__svc/api/revalidate', { site: 'one' })
  assert.deepEqual(answer, { status: 200, json: { ok: true, queued: 2 } })
  const after = await waitFor('a page that was rendered again', async () => {
    const made = await madeOf(server, '/')
    return made === before ? undefined : made
  })
  assert.notEqual(after, before)
})

test('a reload, the configuration, its check and the state answer over HTTP; a site keeps the paths that it defines', async () => {
  const shown = await ask(server, 'GET', '/__svc/api/config')
  assert.deepEqual([shown.json.config.server.workers, shown.json.config.admin.jwt_secret], [2, '***'])

  const file = server.configFile ?? ''
  const text = readFileSync(file, 'utf8')
  const valid = await ask(server, 'POST', '/__svc/api/config/validate', { toml: text })
  assert.deepEqual([valid.status, valid.json.sites], [200, 2])
  const invalid = await ask(server, 'POST', '/__svc/api/config/validate', { toml: `${text}\n[nothing]\nkey = 1\n` })
  assert.deepEqual([invalid.status, invalid.json.code], [422, 'invalid_config'])
  assert.match(invalid.json.errors[0].path, /nothing/)

  writeFileSync(file, `${text}\n[nothing]\nkey = 1\n`)
  const failed = await ask(server, 'POST', '/__svc/api/reload')
  assert.deepEqual([failed.status, failed.json.code, failed.json.errors.length], [422, 'reload_failed', 1])
  writeFileSync(file, text.replace('two.localhost', 'three.localhost'))
  const reloaded = await ask(server, 'POST', '/__svc/api/reload')
  assert.deepEqual([reloaded.status, reloaded.json.changed], [200, { added: 0, removed: 0, changed: 1 }])

  const sites = await ask(server, 'GET', '/__svc/api/sites')
  assert.deepEqual(
    sites.json.sites.map(({ id, state, hostnames }: Record<string, unknown>) => [id, state, hostnames]),
    [
      ['one', 'ok', ['one.localhost']],
      ['two', 'ok', ['three.localhost']],
    ],
  )
  await madeOf(server, '/')
  const one = await ask(server, 'GET', '/__svc/api/sites/one')
  // The pages of the tests before, too.
  assert.deepEqual([one.json.routes.length, one.json.cache.isr.entries, one.json.generation], [3, 2, reloaded.json.generation])
  assert.equal((await ask(server, 'GET', '/__svc/api/sites/gone')).json.code, 'unknown_site')

  const status = await ask(server, 'GET', '/__svc/api/status')
  assert.deepEqual([status.json.workers.length, status.json.last_reload.ok], [2, true])
  const own = await fetchHttp(`${server.url}/api/status`, { host: 'one.localhost' })
  assert.equal(own.text, 'own')
  assert.equal((await fetchHttp(`${server.url}/api/posts`, { host: 'one.localhost' })).status, 404)
})
