import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { get as httpGet } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  Child,
  fetchHttp,
  PROCESS_WAIT_MS,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempSite,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { Backend, client, isr, shown } from './backend.ts'
import { statusOf } from './control.ts'
import { attachUnit, renderHostOf, type SiteProcess, type Unit, wellOrSoon } from './site-unit.ts'

/** A site whose pages say what a backend says. */
function filesOf(backend: Backend): Record<string, string> {
  const ask = (name: string) =>
    `(await fetch('http://${backend.host}/${name}', { next: { revalidate: 3600, tags: ['posts'] } })).text()`
  return {
    'app/page.tsx': backend.page('home'),
    'app/kept/page.tsx': `export const revalidate = 3600\nexport default async () => <p>{await ${ask('kept')}}</p>`,
    'app/data/route.ts': `export const GET = async () => new Response('<p>' + (await ${ask('data')}) + '</p>')`,
    'app/write/route.ts': `import { revalidateTag } from 'next/cache'
export const POST = async (request: Request) => { revalidateTag(await request.text()); return new Response('written') }`,
    'app/text/page.tsx': textPage('first'),
    'app/slow/page.tsx': `import { Suspense } from 'react'
export const dynamic = 'force-dynamic'
async function Late() { return <i>{await (await fetch('http://${backend.host}/late', { cache: 'no-store' })).text()}</i> }
export default () => <main><b>early</b><Suspense fallback={<u>wait</u>}><Late /></Suspense></main>`,
    'app/env/route.ts': 'export const GET = () => Response.json({ ...process.env })',
  }
}

const textPage = (text: string) => `export default function Page() { return <p>${text} text</p> }\n`

/** One site of a server. */
interface Setting {
  readonly id: string
  readonly host: string
  readonly root: string
  readonly server: Server
  readonly backend: Backend
  readonly get: ReturnType<typeof client>
  readonly unit: Unit | undefined
}

/** Starts a server with so many sites. No unit is started. */
async function open(t: TestContext, mode: SiteProcess, count: number): Promise<Setting[]> {
  const sites = []
  for (let number = 1; number <= count; number++) {
    const [id, backend] = [`site-${number}`, await Backend.start(t)]
    sites.push({ id, host: `${id}.localhost`, backend, root: tempSite(t, filesOf(backend)) })
  }
  const tables = sites.map(({ id, host, backend, root }) => {
    const own = [`id = "${id}"`, `hostnames = ["${host}"]`, `root = "${root}"`, `fetch_allow = ["${backend.host}"]`]
    return `[[sites]]\n${own.join('\n')}\nenv = { COLOUR = "blue" }\nprocess = "${mode}"\n`
  })
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n[admin]\njwt_secret = "${'s3cret'.repeat(8)}"\n\n[endpoints]\nadmin = true\n\n${tables.join('\n')}`
  const env = { SVC_MASQUERADE_ROUTE_WATCH_MS: '100', SECRET_OF_THE_HOST: 'leaked' }
  const server = await startServer(t, { config, env })
  return sites.map((site) => ({ ...site, server, unit: undefined, get: client(server, site.host) }))
}

async function svc(t: TestContext, { server }: Setting, ...args: string[]): Promise<void> {
  const child = new Child(t, svcCommand, [...args, '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
}

/** The first piece of a streamed answer, before the rest is aborted. */
async function firstPiece(
  { server, host }: Setting,
  path: string,
): Promise<{ readonly piece: string; readonly rest: Promise<string> }> {
  const first = Promise.withResolvers<string>()
  const rest = Promise.withResolvers<string>()
  httpGet(`${server.url}${path}`, { headers: { host }, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (data: string) => {
      text += data
      if (text.includes('</u>')) first.resolve(text)
    })
    response.on('end', () => rest.resolve(text))
  }).on('error', first.reject)
  return { piece: await first.promise, rest: rest.promise }
}

type Scenarios = Readonly<Record<string, (t: TestContext, setting: Setting) => Promise<void>>>

/** Replacing render hosts. First: a new host warms every site that the old one has rendered. */
const replacements: Scenarios = {
  'a render host that is killed costs no request that can be asked again': async (t, { host, server, unit }) => {
    const hostPid = async () => {
      if (unit !== undefined) return renderHostOf(unit)
      return (await statusOf(server)).hosts.find(({ state }) => state === 'ready')?.pid ?? assert.fail('no host')
    }
    // A death before the spare has started is another case.
    const hasSpare = async () => (await statusOf(server)).hosts.some(({ state }) => state === 'spare')
    const spare = async () => unit !== undefined || waitFor('a spare', hasSpare, PROCESS_WAIT_MS)
    await spare()
    const check = unit === undefined ? {} : { check: wellOrSoon }
    const load = startLoad(t, { url: `${server.url}/data`, host, keepAlive: 4, fresh: 1, pauseMs: 5, ...check })
    for (let round = 0; round < 2; round++) {
      const before = load.done()
      await waitFor('some load', () => load.done() > before + 200, PROCESS_WAIT_MS)
      const victim = await hostPid()
      await spare()
      process.kill(victim, 'SIGKILL')
      await waitFor('another host', async () => (await hostPid()) !== victim, PROCESS_WAIT_MS)
    }
    const before = load.done()
    await waitFor('some more load', () => load.done() > before + 200, PROCESS_WAIT_MS)
    assert.deepEqual((await load.stop()).failures.slice(0, 5), [])
  },
  'no request fails while the renderers are replaced': async (t, setting) => {
    const { host, server, get } = setting
    assert.equal((await get('/data')).status, 200)
    const load = startLoad(t, { url: `${server.url}/data`, host, keepAlive: 4, fresh: 1 })
    await waitFor('some load', () => load.done() > 100, PROCESS_WAIT_MS)
    await svc(t, setting, 'workers', 'restart')
    const before = load.done()
    await waitFor('some more load', () => load.done() > before + 100, PROCESS_WAIT_MS)
    assert.deepEqual((await load.stop()).failures.slice(0, 5), [])
  },
}

/** Serving and changing a site. */
const services: Scenarios = {
  'a page is streamed': async (_t, setting) => {
    const release = setting.backend.hold('late')
    const { piece, rest } = await firstPiece(setting, '/slow')
    assert.match(piece, /<b>early<\/b>/)
    assert.doesNotMatch(piece, /<i>/)
    release()
    assert.match(await rest, /<i>1<\/i>/)
  },
  'a page is rendered once, purged by tag and by the command line': async (t, setting) => {
    const { get, backend } = setting
    for (let i = 0; i < 6; i++) assert.equal(shown((await get('/')).text), 1)
    await svc(t, setting, 'purge', 'isr', '--tag', '/')
    for (let i = 0; i < 6; i++) assert.equal(shown((await get('/')).text), 2)
    assert.equal(backend.count('home'), 2)
  },
  'a reload that changes nothing of it keeps its pages': async (t, setting) => {
    const made = shown((await setting.get('/')).text)
    await svc(t, setting, 'reload')
    assert.match(isr(await setting.get('/')), /^(svc-isr; hit; ttl=\d+)?$/)
    assert.equal(setting.backend.count('home'), made)
  },
  'data of the site is kept, and gone with the very next request after the site has purged it': async (_t, { get, backend }) => {
    for (let round = 1; round <= 5; round++) {
      for (const path of ['/kept', '/data', '/kept', '/data']) assert.equal(shown((await get(path)).text), round, path)
      const written = await get('/write', { method: 'POST', body: 'posts' })
      assert.equal(written.text, 'written')
    }
    assert.equal(backend.count('data'), 5)
  },
  'an edit, a new route and a removed one show by themselves': async (_t, { get, root }) => {
    assert.match((await get('/text')).text, /first text/)
    writeFileSync(join(root, 'app/text/page.tsx'), textPage('second'))
    await waitFor('the edited page', async () => (await get('/text')).text.includes('second text'), PROCESS_WAIT_MS)
    writeFiles(root, { 'app/later/page.tsx': textPage('later') })
    await waitFor('the new route', async () => (await get('/later')).text.includes('later text'), PROCESS_WAIT_MS)
  },
  'fresh isolates, forgotten modules and a reset by the app directory fail no request': async (t, setting) => {
    const { id, get, root, server } = setting
    assert.equal((await get('/text')).status, 200)
    await svc(t, setting, 'isolate', 'flush', id)
    assert.equal((await get('/data')).status, 200)
    const listed = JSON.parse((await fetchHttp(`${server.url}/__svc/debug/isolates`)).text)
    const own = listed.isolates.filter(({ site }: { site: string }) => site === id)
    assert.ok(own.some((isolate: { requests: number; heap_bytes: number }) => isolate.requests > 0 && isolate.heap_bytes > 0))
    assert.deepEqual(listed.missing, [])
    await svc(t, setting, 'purge', 'modules', '--site', root)
    assert.equal((await get('/data')).status, 200)
    const reset = await fetchHttp(`${server.url}/compat-cache/purge-app`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ app_root: root }),
    })
    assert.equal(reset.status, 200, reset.text)
    assert.ok(reset.text.includes(`"${id}"`), reset.text)
    assert.equal((await get('/data')).status, 200)
  },
  'its code sees its own environment and nothing of the host': async (_t, { get }) => {
    assert.deepEqual(JSON.parse((await get('/env')).text), { NODE_ENV: 'production', COLOUR: 'blue' })
  },
}

/** Tests what a site does in the same way with and without a process of its own. */
export function testScenarios(mode: SiteProcess): void {
  test(`process = "${mode}"`, async (t) => {
    // The scenarios of a kind share a site, and its process where it has one.
    const kinds = [replacements, services]
    const settings = await open(t, mode, kinds.length)
    for (const [i, scenarios] of kinds.entries()) {
      const { id, server, ...site } = settings[i] ?? assert.fail()
      const unit = mode === 'own' ? await attachUnit(t, server, id) : undefined
      for (const [name, scenario] of Object.entries(scenarios)) {
        await t.test(name, (t) => scenario(t, { ...site, id, server, unit }))
      }
    }
  })
}
