import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  type Cleanup,
  fetchHttp,
  PROCESS_WAIT_MS,
  type Server,
  startServer,
  tempDir,
  tempSite,
  waitFor,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'
import { AcmeServer } from './acme/acme-server.ts'
import { env, issuedAt } from './acme/automatic-server.ts'
import { fileCleanup } from './file-cleanup.ts'

const page = 'export const revalidate = 3600\nexport default function Page() { return <p>{crypto.randomUUID()}</p> }'

async function ask(server: Server, method: string, path: string, body?: unknown) {
  const content = body === undefined ? {} : { 'content-type': 'application/json' }
  const headers = { ...(await bearer('root')), ...content }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetchHttp(`${server.url}/__svc/admin/api${path}`, { method, headers, ...text })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

interface Listed {
  readonly id: string
  readonly kind: string
  readonly pid: number
  readonly state: string
}

async function listed(server: Server): Promise<Listed[]> {
  return (await ask(server, 'GET', '/workers')).json.workers
}

/** Starts a server with one site. */
function start(t: Cleanup, more = '', variables: Readonly<Record<string, string>> = {}): Promise<Server> {
  const root = tempSite(t, { 'app/page.tsx': page })
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`
  return startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${more}\n${adminToml}\n${site}`,
    env: variables,
  })
}

/** For the tests that need no configuration of their own, in their order: the first finds no stored page. */
const cleanup = fileCleanup()
let server: Server
before(async () => {
  server = await start(cleanup)
})

/** Requests for the page so far, on all workers. */
async function pages(): Promise<number> {
  const { text } = await fetchHttp(`${server.url}/__svc/metrics`)
  const counts = text.matchAll(/^http_requests_total\{.*path_group="\/".*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

test('stored pages are listed, shown and dropped; pages are rendered in advance and again without a request for them', async () => {
  const list = async () => (await ask(server, 'GET', '/cache/entries?site=one')).json.entries as Record<string, string>[]
  assert.deepEqual(await list(), [])
  const warmed = await ask(server, 'POST', '/cache/warm', { site: 'one', paths: ['/'] })
  assert.deepEqual([warmed.status, warmed.json.queued], [202, 1])
  const [entry] = await waitFor('the page', async () => {
    const entries = await list()
    return entries.length > 0 ? entries : undefined
  })
  assert.deepEqual([entry?.['path'], entry?.['site'], entry?.['layer']], ['/', 'one', 'isr'])
  const { json } = await ask(server, 'GET', `/cache/entries/${entry?.['key']}?body=1`)
  assert.match(json.body.data, /<p>[-0-9a-f]{36}<\/p>/)
  assert.equal((await fetchHttp(`${server.url}/`, { host: 'one.localhost' })).text, json.body.data)

  for (let i = 0; i < 12; i++) await fetchHttp(`${server.url}/?q=${i % 2}`, { host: 'one.localhost' })
  const inL0 = async () => (await ask(server, 'GET', '/cache/entries?layer=l0&site=one&limit=1')).json
  const first = await inL0()
  assert.deepEqual([first.entries.length, first.is_partial, first.missing], [1, false, []])
  const next = (await ask(server, 'GET', `/cache/entries?layer=l0&site=one&limit=500&cursor=${first.cursor}`)).json
  const kept: { key: string; hits: number; query: string }[] = [...first.entries, ...next.entries]
  assert.equal(new Set(kept.map(({ key }) => key)).size, kept.length, 'those of several workers are one')
  assert.ok(kept.some(({ hits }) => hits > 0) && kept.every(({ query }) => /^q=[01]$/.test(query)), JSON.stringify(kept))
  const inMemory = (await ask(server, 'GET', `/cache/entries/${kept[0]?.key}?body=1`)).json
  assert.deepEqual([inMemory.path, inMemory.layer, inMemory.body.data], ['/', 'l0', json.body.data])
  const purged = await ask(server, 'DELETE', `/cache/entries/${kept[0]?.key}`)
  assert.ok(purged.json.layer === 'l0' && purged.json.purged >= kept.length, JSON.stringify(purged.json))
  assert.deepEqual((await inL0()).entries, [])
  assert.ok((await list()).some(({ hits }) => Number.isInteger(hits)))

  const headers = { ...(await bearer('root')), 'content-type': 'application/json' }
  const again = await fetchHttp(`${server.url}/api/revalidate`, { method: 'POST', headers, body: '{"site":"one"}' })
  assert.deepEqual(JSON.parse(again.text), { ok: true, queued: 1 })
  await waitFor('the page that was rendered again', async () => (await list())[0]?.['stored_at'] !== entry?.['stored_at'])

  const obs = await fetchHttp(`${server.url}/__svc/obs/cache?prefix=/`, { headers: await bearer('vera') })
  assert.equal(JSON.parse(obs.text).entries.length, 1)
  const dropped = await ask(server, 'DELETE', `/cache/entries/${entry?.['key']}`)
  assert.deepEqual([dropped.status, dropped.json.purged], [200, 1])
  assert.deepEqual(await list(), [])
  assert.equal((await ask(server, 'GET', `/cache/entries/${entry?.['key']}`)).json.code, 'unknown_entry')
})

test('the site and the overview follow a flush', async () => {
  const made = () => fetchHttp(`${server.url}/`, { host: 'one.localhost' }).then(({ text }) => text)
  const first = await made()
  assert.equal((await ask(server, 'GET', '/overview')).json.cache.isr.entries, 1)
  assert.deepEqual((await ask(server, 'GET', '/sites/one/routes')).json.routes.length, 1)
  const flushed = await ask(server, 'POST', '/sites/one/flush')
  assert.deepEqual([flushed.status, flushed.json.layer, flushed.json.also.isr], [200, 'isolates', 1])
  assert.notEqual(await made(), first)
  assert.equal((await ask(server, 'GET', '/health')).json.status, 'healthy')
})

test('a worker and a render host are replaced one at a time, and no request fails meanwhile', async () => {
  const requested = await pages()
  const before = await listed(server)
  const host = before.find(({ kind, state }) => kind === 'render' && state === 'ready') ?? assert.fail(JSON.stringify(before))
  const statuses: number[] = []
  let isOver = false
  const load = Promise.all(
    Array.from({ length: 3 }, async () => {
      while (!isOver) statuses.push((await fetchHttp(`${server.url}/`, { host: 'one.localhost' })).status)
    }),
  )
  for (const id of ['w1', host.id]) {
    const begun = await ask(server, 'POST', `/workers/${id}/restart`)
    assert.equal(begun.status, 202)
    const ended = await waitFor(
      `the restart of ${id}`,
      async () => {
        const { json } = await ask(server, 'GET', `/workers/restart/${begun.json.restart_id}`)
        return json.state === 'running' ? undefined : json
      },
      PROCESS_WAIT_MS,
    )
    assert.deepEqual([ended.state, ended.replaced, ended.total], ['done', 1, 1])
  }
  isOver = true
  await load
  assert.deepEqual(new Set(statuses), new Set([200]))
  const after = await listed(server)
  const pidOf = (list: readonly Listed[], id: string) => list.find((one) => one.id === id)?.pid
  assert.notEqual(pidOf(after, 'w1'), pidOf(before, 'w1'))
  assert.equal(pidOf(after, 'w2'), pidOf(before, 'w2'))
  assert.ok(!after.some(({ pid }) => pid === host.pid))
  // No scrape has come before: the worker was asked for its last counts when it ended.
  assert.equal(await pages(), requested + statuses.length)
  assert.equal((await ask(server, 'POST', '/workers/w9/restart')).json.code, 'unknown_worker')
})

test('the state of upstreams is summed over the workers; a server that refuses connections fails', async (t) => {
  const good = createServer((_, response) => response.end('good')).listen(0, '127.0.0.1')
  t.after(() => good.close())
  // A port that was free a moment ago.
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const bad = (closed.address() as AddressInfo).port
  await new Promise((resolve) => closed.close(resolve))
  const dir = tempDir(t, 'vhosts')
  const servers = `server 127.0.0.1:${(good.address() as AddressInfo).port}; server 127.0.0.1:${bad} fail_timeout=1h;`
  const location = 'location / { proxy_pass http://backend; }'
  writeFiles(dir, {
    'a.conf': `upstream backend { ${servers} }\nserver { listen 127.0.0.1:0; server_name up.test; ${location} }\n`,
  })
  const server = await start(t, `vhosts = ["${dir}/a.conf"]`)
  const url = server.ready.listen.at(-1) ?? ''
  const [, refusing] = await waitFor(
    'a server that all workers avoid',
    async () => {
      // Each on a connection of its own, so that both workers get some.
      const requests = Array.from({ length: 8 }, () => fetchHttp(`${url}/`, { host: 'up.test' }))
      for (const { text } of await Promise.all(requests)) assert.equal(text, 'good')
      const { json } = await ask(server, 'GET', '/upstreams')
      assert.deepEqual([json.workers, json.is_partial], [{ answered: 2, total: 2 }, false])
      const states = json.upstreams[0].servers
      return states[1].state === 'failing' ? states : undefined
    },
    PROCESS_WAIT_MS,
  )
  assert.ok(refusing.failures >= 2)
  const { json } = await ask(server, 'GET', '/vhosts')
  assert.deepEqual(json.vhosts[0].names, ['up.test'])
})

test('an operator takes a server of an upstream group out of all workers and back, over a reload, a new worker and a restart', async (t) => {
  const backends = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const backend = createServer((_, response) => response.end(name))
      t.after(() => backend.close())
      const { promise, resolve } = Promise.withResolvers<void>()
      backend.listen(0, '127.0.0.1', resolve)
      await promise
      return `127.0.0.1:${(backend.address() as AddressInfo).port}`
    }),
  )
  const dir = tempDir(t)
  const socket = `unix:${dir}/none.sock`
  const servers = `${backends.map((address) => `server ${address};`).join(' ')} server ${socket} backup;`
  const file = join(dir, 'a.conf')
  const twice = `upstream twice { server ${backends[0]} down; server ${backends[0]}; }`
  const places = `location / { proxy_pass http://back.end; } location /twice { proxy_pass http://twice; }`
  const text = `upstream back.end { ${servers} } ${twice}\nserver { listen 127.0.0.1:0; server_name up.test; ${places} }\n`
  writeFiles(dir, { 'a.conf': text })
  const rule = `[[route_rules]]\npattern = "/ruled"\nupstream = "http://${backends[1]}"`
  const more = `vhosts = ["${file}"]\n${rule}`
  const state = { SVC_SERVER__STATE_DIR: tempDir(t) }
  let server = await start(t, more, state)
  const names = async () => {
    const url = server.ready.listen.at(-1) ?? ''
    const answers = await Promise.all(Array.from({ length: 16 }, () => fetchHttp(`${url}/`, { host: 'up.test' })))
    return [...new Set(answers.map(({ text: name, status }) => (status === 200 ? name : status)))].toSorted()
  }
  const path = `/upstreams/back.end/${backends[0]}`
  const put = (down: unknown) => ask(server, 'PUT', path, { down })
  assert.deepEqual(await names(), ['a', 'b'])
  assert.deepEqual((await put(true)).json, { ok: true, upstream: 'back.end', server: backends[0], down: true })
  const states = async () => {
    const all = (await ask(server, 'GET', '/upstreams')).json.upstreams[0].servers as { state: string }[]
    return all.slice(0, 2).map(({ state }) => state)
  }
  assert.deepEqual([await names(), await states()], [['b'], ['down', 'up']])
  const { json } = await ask(server, 'GET', '/audit')
  assert.partialDeepStrictEqual(json.entries[0], {
    username: 'root',
    action: 'PUT /__svc/admin/api/upstreams/:name/:server',
    target: JSON.stringify({ name: 'back.end', server: backends[0], down: true }),
    result: 'ok',
  })

  writeFiles(dir, { 'a.conf': `# reloaded\n${text}` })
  assert.equal((await ask(server, 'POST', '/reload')).status, 200)
  const worker = (await listed(server))[0] ?? assert.fail()
  process.kill(worker.pid, 'SIGKILL')
  await waitFor(
    'a new worker',
    async () => {
      const all = (await listed(server)).filter(({ kind }) => kind === worker.kind)
      return all.every(({ pid, state }) => pid !== worker.pid && state === 'ready')
    },
    PROCESS_WAIT_MS,
  )
  assert.deepEqual([await names(), await states()], [['b'], ['down', 'up']])

  await server.child.kill()
  await server.child.exited
  server = await start(t, more, state)
  assert.deepEqual([await names(), await states()], [['b'], ['down', 'up']])
  assert.equal((await put(false)).status, 200)
  assert.deepEqual(
    [await names(), await states()],
    [
      ['a', 'b'],
      ['up', 'up'],
    ],
  )
  // The address of a route rule, and servers of a group that share an address.
  const ruled = (path: string) => fetchHttp(`${server.ready.listen.at(-1)}${path}`, { host: 'up.test' })
  const direct = backends[1] ?? ''
  assert.equal((await ruled('/ruled')).text, 'b')
  assert.equal((await ask(server, 'PUT', `/upstreams/${direct}/${direct}`, { down: true })).status, 200)
  assert.deepEqual([(await ruled('/ruled')).status, await names()], [502, ['a', 'b']])
  const shared = await ask(server, 'PUT', `/upstreams/twice/${backends[0]}`, { down: true })
  assert.deepEqual([shared.status, shared.json.code], [422, 'sup_override'])
  assert.equal((await ask(server, 'PUT', `/upstreams/twice/${backends[0]}~2`, { down: true })).status, 200)
  assert.equal((await ruled('/twice')).status, 502)
  assert.equal((await ask(server, 'PUT', `/upstreams/twice/${backends[0]}~1`, { down: false })).status, 200)
  assert.equal((await ruled('/twice')).text, 'a')
  const upstreams = (await ask(server, 'GET', '/upstreams')).json.upstreams as { name: string; servers: Listed[] }[]
  const shown = upstreams.map(({ name, servers: all }) => [name, ...all.map(({ id, state: now }) => `${id} ${now}`)])
  assert.deepEqual(shown.slice(1), [
    ['twice', `${backends[0]}~1 up`, `${backends[0]}~2 down`],
    [direct, `${direct} down`],
  ])
  const ofSocket = await ask(server, 'PUT', `/upstreams/back.end/${encodeURIComponent(socket)}`, { down: true })
  assert.deepEqual([ofSocket.status, ofSocket.json.server], [200, socket])
  const unknown = await ask(server, 'PUT', '/upstreams/back.end/127.0.0.1:1', { down: true })
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'unknown_upstream'])
  assert.equal((await put('yes')).status, 400)
})

test('certificates are listed, and an automatic one is ordered again on request', async (t) => {
  const acme = await AcmeServer.start(t)
  const dir = tempDir(t, 'certs')
  writeCertificate(dir, 'own', { commonName: 'own', hosts: ['own.test'] })
  const root = tempSite(t, { 'public/index.html': 'hello' })
  const site = (id: string, more = '') => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "${root}"\n${more}`
  const server = await startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nlisten_tls = "127.0.0.2:0"\nworkers = 1
[tls]\nauto = true\nemail = "admin@a.test"\nacme_directory = "${acme.directory}"
${adminToml}\n${site('a')}${site('own', `tls_cert = "${join(dir, 'own.crt')}"\ntls_key = "${join(dir, 'own.key')}"\n`)}`,
    env,
  })
  acme.lead(server.url)
  await issuedAt(server, 'a.test')
  const { json } = await ask(server, 'GET', '/certs')
  const certs = json.certs as { names: string[]; source: string; state: string }[]
  const facts = certs.map(({ names, source, state }) => `${names} ${source} ${state}`).sort()
  assert.deepEqual(facts, ['a.test acme valid', 'own.test file valid'])
  assert.doesNotMatch(JSON.stringify(json), /PRIVATE/)

  assert.equal((await ask(server, 'POST', '/certs/renew?host=a.test')).status, 202)
  await waitFor('the second certificate', async () => (await issuedAt(server, 'a.test')).subject === 'issued 2', PROCESS_WAIT_MS)
  assert.deepEqual(acme.orders, ['a.test', 'a.test'])
  assert.equal((await ask(server, 'POST', '/certs/renew?host=own.test')).json.code, 'certificate_of_file')
  assert.equal((await ask(server, 'POST', '/certs/renew?host=gone.test')).json.code, 'unknown_host')
})
