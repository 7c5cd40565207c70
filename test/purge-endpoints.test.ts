import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { before, test } from 'node:test'
import {
  Child,
  type Cleanup,
  fetchHttp,
  type HttpAnswer,
  type HttpOptions,
  PROCESS_WAIT_MS,
  type Server,
  startServer,
  svcCommand,
  tempSite,
  waitFor,
} from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'
import { fileCleanup } from './file-cleanup.ts'

const page = `
export const revalidate = 3600
export default function Page() { return <p id="made">{crypto.randomUUID()}</p> }`
const site = { 'app/page.tsx': page, 'app/about/page.tsx': page }

function config(root: string, server = ''): string {
  const sites = ['one', 'two'].map((id) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`)
  return `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${server}\n${adminToml}\n${sites.join('\n')}`
}

function start(t: Cleanup, server = ''): Promise<Server> {
  return startServer(t, { config: config(tempSite(t, site), server) })
}

/** For all tests that need no configuration of their own. The first looks at what has been rendered so far. */
const cleanup = fileCleanup()
let server: Server
before(async () => {
  server = await start(cleanup)
})

function post(server: Server, path: string, body?: unknown, options: HttpOptions = {}): Promise<HttpAnswer> {
  const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  return fetchHttp(server.url + path, { method: 'POST', ...text, ...options, headers })
}

/** The part in which two renders differ. Each request has a connection of its own, so that every worker is asked. */
async function madeOf(server: Server, path: string, host = 'one.localhost'): Promise<string> {
  const { status, text } = await fetchHttp(server.url + path, { host })
  assert.equal(status, 200, text)
  return /<p id="made">([^<]+)<\/p>/.exec(text)?.[1] ?? assert.fail(text)
}

/** The same from many connections: what the workers serve at the moment. */
async function allMadeOf(server: Server, path: string, host?: string): Promise<Set<string>> {
  return new Set(await Promise.all(Array.from({ length: 12 }, () => madeOf(server, path, host))))
}

interface Listed {
  readonly isolates: readonly { readonly label: string; readonly last_build_ms: number; readonly heap_bytes: number }[]
}

test('the router and the isolates can be looked at', async () => {
  await madeOf(server, '/')
  const router = JSON.parse((await fetchHttp(`${server.url}/__svc/debug/router`)).text)
  assert.deepEqual(
    router.sites.map(({ id }: { id: string }) => id),
    ['one', 'two'],
  )
  const patterns = router.sites[0].routes.map(({ pattern }: { pattern: string }) => pattern)
  assert.deepEqual(patterns.toSorted(), ['/', '/about'])
  const listed = async () => (JSON.parse((await fetchHttp(`${server.url}/__svc/debug/isolates`)).text) as Listed).isolates
  await waitFor(
    'how long the isolate took',
    async () => (await listed()).some((one) => one.label === 'one' && one.last_build_ms > 0 && one.heap_bytes > 0),
    PROCESS_WAIT_MS,
  )
  const modulesOf = (site: string) => fetchHttp(`${server.url}/__svc/debug/modules${site}`)
  const { isolates } = JSON.parse((await modulesOf('?site=one')).text)
  const files = isolates.flatMap(({ modules }: { modules: { file: string }[] }) => modules.map(({ file }) => file))
  assert.ok(
    files.some((file: string) => file.endsWith('/app/page.tsx')),
    'what was rendered is loaded',
  )
  assert.equal((await modulesOf('')).status, 400)
  const unknown = await modulesOf('?site=gone')
  assert.deepEqual([unknown.status, JSON.parse(unknown.text).code], [404, 'unknown_site'])
  const snapshot = `${server.url}/__svc/debug/heap-snapshot?site=one`
  assert.equal((await fetchHttp(snapshot, { method: 'POST' })).status, 401, 'not even for the machine itself')
  const taken = await fetchHttp(snapshot, { method: 'POST', headers: await bearer('root'), timeoutMs: PROCESS_WAIT_MS })
  assert.equal(taken.status, 200, taken.text)
  const { file, bytes } = JSON.parse(taken.text)
  assert.deepEqual([statSync(file).size, statSync(file).mode & 0o777], [bytes, 0o600])
  assert.ok(JSON.parse(readFileSync(file, 'utf8')).strings.some((text: string) => text.includes('/app/page.tsx')))
  await madeOf(server, '/about')
  const health = JSON.parse((await fetchHttp(`${server.url}/__svc/health`)).text)
  assert.equal(health.checks.isr_cache, 'ok')
  const metrics = (await fetchHttp(`${server.url}/__svc/metrics`)).text
  assert.match(metrics, /^cache_entries\{layer="l1"\} [1-9]\d*$/m)
  assert.match(metrics, /^svc_purges_total\{layer="isr"\} 0$/m)
})

test('a purge by tag, pattern or path is seen by the very next request of every worker, and by no other page or site', async () => {
  const before = {
    home: await allMadeOf(server, '/'),
    about: await allMadeOf(server, '/about'),
    other: await allMadeOf(server, '/', 'two.localhost'),
  }
  for (const made of Object.values(before)) assert.equal(made.size, 1, 'a page is rendered once')
  const headers = await bearer('root')
  const targets = ['tag=route%3Aone%3A%2F', `pattern=${encodeURIComponent('route:one:/')}`]
  for (const target of targets) {
    const [old] = await allMadeOf(server, '/')
    const answer = await post(server, `/__svc/admin/api/cache/purge?${target}`, undefined, { headers })
    assert.equal(answer.status, 200, answer.text)
    const { ok, layer, purged, workers, instances, took_ms } = JSON.parse(answer.text)
    assert.deepEqual([ok, layer, purged, instances], [true, 'isr', 1, { acked: 1, known: 1 }])
    // On a machine that is too busy one of them may have been replaced instead.
    assert.ok(workers.total >= 2 && workers.acked <= workers.total)
    assert.equal(typeof took_ms, 'number')
    assert.ok(!(await allMadeOf(server, '/')).has(old ?? ''), target)
  }
  assert.deepEqual(await allMadeOf(server, '/about'), before.about)
  assert.deepEqual(await allMadeOf(server, '/', 'two.localhost'), before.other)

  const everywhere = await post(server, '/__svc/admin/api/cache/purge?tag=%2Fabout', undefined, { headers })
  assert.equal(JSON.parse(everywhere.text).purged, 1)
  const all = await post(server, '/__svc/admin/api/cache/purge?pattern=*', undefined, { headers })
  assert.ok(JSON.parse(all.text).purged >= 2)
  assert.notDeepEqual(await allMadeOf(server, '/', 'two.localhost'), before.other)
})

test('an L0 purge leaves the shared store: pages come back as they were', async () => {
  const before = await allMadeOf(server, '/')
  await allMadeOf(server, '/')
  const answer = await post(server, '/__svc/cache/purge-l0', { paths: ['/'], host: 'one.localhost' })
  const { layer, purged, also, scope } = JSON.parse(answer.text)
  assert.deepEqual([layer, also.isr, scope], ['l0', 0, { paths: ['/'], host: 'one.localhost' }])
  assert.ok(purged >= 0 && purged <= 2)
  assert.deepEqual(await allMadeOf(server, '/'), before)
  const stats = JSON.parse((await fetchHttp(`${server.url}/__svc/cache/stats`)).text)
  assert.ok(stats.isr.entries >= 1)
  assert.equal((await post(server, '/__svc/cache/purge-proxy', { host: 'one.localhost' })).status, 200)
})

test('endpoints reject invalid requests, and clients on other hosts', async () => {
  const codeOf = ({ text }: HttpAnswer) => JSON.parse(text).code
  const unknown = await post(server, '/__svc/cache/purge-l0', { path: ['/'] })
  assert.deepEqual([unknown.status, codeOf(unknown)], [400, 'invalid_request'])
  assert.equal(JSON.parse(unknown.text).errors[0].path, 'path')
  assert.equal((await post(server, '/__svc/cache/purge-proxy', {})).status, 400)
  assert.equal((await post(server, '/__svc/cache/purge-l0', {}, { headers: { 'content-type': 'text/plain' } })).status, 415)
  const badPath = await post(server, '/__svc/cache/purge-l0', { paths: ['/%zz'] })
  assert.deepEqual([badPath.status, codeOf(badPath)], [400, 'sup_bad_purge'])
  const big = { paths: ['/'.padEnd(1_100_000, 'x')] }
  assert.equal((await post(server, '/__svc/cache/purge-l0', big)).status, 413)
  const wrongMethod = await fetchHttp(`${server.url}/__svc/cache/purge-l0`)
  assert.deepEqual([wrongMethod.status, wrongMethod.headers['allow']], [405, 'POST'])
  const noSite = await post(server, '/__svc/api/sites/gone/isolate/flush')
  assert.deepEqual([noSite.status, codeOf(noSite)], [404, 'unknown_site'])

  const refused: HttpOptions[] = [
    { headers: { 'x-forwarded-for': '127.0.0.1' } },
    { headers: { 'cdn-loop': 'svc;other' } },
    { headers: { origin: 'http://evil.test' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { host: 'rebound.test' },
  ]
  for (const options of refused) {
    for (const path of ['/__svc/cache/purge-l0', '/__svc/admin/api/cache/purge?pattern=*', '/__svc/admin/api/workers/restart']) {
      const answer = await post(server, path, undefined, options)
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, 'Bearer'], JSON.stringify([path, options]))
    }
  }
  const listed = JSON.parse((await fetchHttp(`${server.url}/__svc/nothing`, { host: 'rebound.test' })).text).endpoints
  assert.ok(
    listed.some(
      (entry: { path: string; access: string }) => entry.path === '/__svc/cache/purge-l0' && entry.access === 'loopback',
    ),
  )
})

test('without trust in loopback nothing of the host itself is open over TCP, but the command line works', async (t) => {
  const server = await start(t, 'loopback_trust = false')
  assert.equal((await post(server, '/__svc/cache/purge-l0')).status, 401)
  assert.equal((await fetchHttp(`${server.url}/__svc/debug/router`)).status, 401)
  const before = await allMadeOf(server, '/')
  const child = new Child(t, svcCommand, ['purge', 'isr', '--pattern', 'route:one:*', '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
  assert.match(child.stdout, /^dropped 1 entry of isr.*\(\d of \d workers, /)
  assert.notDeepEqual(await allMadeOf(server, '/'), before)
})
