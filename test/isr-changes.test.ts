// Starts first: it starts many servers.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, PROCESS_WAIT_MS, type Server, startServer, svcCommand, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { client, isr, restart } from './backend.ts'

const page = (text: string) => `import { brand } from '../lib/brand'
export default function Page() { return <p>{brand} ${text}</p> }
`

function siteFiles(text: string): Record<string, string> {
  return {
    'app/page.tsx': page(text),
    'app/other/page.tsx': 'export default function Page() { return <p>other</p> }\n',
    'lib/brand.ts': "export const brand = 'acme'\n",
  }
}

/** Starts a server with sites in these directories. With two workers, for changes that have to reach every worker. */
async function startSites(t: TestContext, roots: Readonly<Record<string, string>>, workers = 2): Promise<Server> {
  const sites = Object.entries(roots).map(
    ([id, root]) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`,
  )
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = ${workers}\n\n${sites.join('\n')}`
  return startServer(t, { config, env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '100' } })
}

const start = (t: TestContext, root: string, workers?: number) => startSites(t, { one: root }, workers)

/** Changes the configuration of a server and reloads it. */
async function reloadWith(t: TestContext, server: Server, change: (config: string) => string): Promise<void> {
  const file = server.configFile ?? assert.fail('the server has a configuration file')
  writeFileSync(file, change(readFileSync(file, 'utf8')))
  const reload = new Child(t, svcCommand, ['reload', '--config', file])
  assert.equal((await reload.exited).code, 0, reload.stderr)
}

// Each has a site for itself. The last change of the configuration concerns all sites.
test('while the server runs', async (t) => {
  const green = tempSite(t, siteFiles('green'))
  const roots = {
    edited: tempSite(t, siteFiles('first')),
    moved: tempSite(t, siteFiles('blue')),
    kept: tempSite(t, siteFiles('first')),
    weighted: tempSite(t, {
      'app/page.tsx': 'export const revalidate = 3600\nexport default function Page() { return <p>{crypto.randomUUID()}</p> }\n',
    }),
    coloured: tempSite(t, { 'app/page.tsx': 'export default function Page() { return <p>{process.env.COLOUR}</p> }\n' }),
  }
  const server = await startSites(t, roots)

  await t.test('an edit of a page, of what it imports, and of the routes show without a purge or a restart', async () => {
    const get = client(server, 'edited.localhost')
    const root = roots.edited
    for (let i = 0; i < 3; i++) assert.match((await get('/')).text, /acme<!-- --> first/)
    const other = String((await get('/other')).headers['etag'])
    writeFileSync(join(root, 'app/page.tsx'), page('second'))
    await waitFor('the edited page', async () => /acme<!-- --> second/.test((await get('/')).text), PROCESS_WAIT_MS)
    writeFileSync(join(root, 'lib/brand.ts'), "export const brand = 'globex'\n")
    await waitFor('the edited import', async () => /globex<!-- --> second/.test((await get('/')).text), PROCESS_WAIT_MS)
    writeFiles(root, { 'app/new/page.tsx': 'export default function Page() { return <p>new</p> }\n' })
    await waitFor('the new route', async () => (await get('/new')).status === 200, PROCESS_WAIT_MS)
    writeFiles(root, {
      'app/layout.tsx':
        'export default function Layout({ children }: any) { return <html><body><main>{children}</main></body></html> }\n',
    })
    await waitFor(
      'the layout around every page',
      async () => {
        const [home, last] = [await get('/'), await get('/other')]
        return home.text.includes('<main>') && last.text.includes('<main>') && last.headers['etag'] !== other
      },
      PROCESS_WAIT_MS,
    )
  })

  await t.test('a reload that gives a site another directory purges all pages of the old one', async (t) => {
    const get = client(server, 'moved.localhost')
    for (let i = 0; i < 5; i++) assert.match((await get('/')).text, /blue/)
    await reloadWith(t, server, (config) => config.replace(roots.moved, green))
    for (let i = 0; i < 10; i++) assert.match((await get('/')).text, /green/)
  })

  await t.test('a reload that changes nothing of a site keeps its pages', async (t) => {
    const get = client(server, 'kept.localhost')
    await get('/')
    await reloadWith(t, server, (config) => config)
    assert.match(isr(await get('/')), /^(svc-isr; hit; ttl=\d+)?$/)
  })

  await t.test('another cache_weight drops no page of its site', async (t) => {
    const get = client(server, 'weighted.localhost')
    const made = (await get('/')).text
    await waitFor('the page in L0', async () => /svc-l0; hit/.test(String((await get('/')).headers['cache-status'])))
    await reloadWith(t, server, (config) => config.replace('id = "weighted"', '$&\ncache_weight = 3'))
    for (let i = 0; i < 6; i++) assert.equal((await get('/')).text, made)
  })

  await t.test('a reload that changes what the code of sites sees of the configuration leaves no old page', async (t) => {
    const get = client(server, 'coloured.localhost')
    for (const colour of ['red', 'blue']) {
      await reloadWith(t, server, (config) => `${config.replace(/\n\[env\][\s\S]*$/, '')}\n[env]\nCOLOUR = "${colour}"\n`)
      for (let i = 0; i < 5; i++) assert.match((await get('/')).text, new RegExp(`<p>${colour}</p>`))
    }
  })
})

test('a page that changed while the server was down is rendered again, the others are still cached', async (t) => {
  const root = tempSite(t, siteFiles('first'))
  const server = await start(t, root, 1)
  assert.match((await client(server)('/')).text, /first/)
  await server.child.stop()
  writeFileSync(join(root, 'app/page.tsx'), page('second'))
  const get = client(await restart(t, server))
  await waitFor('the changed page', async () => /second/.test((await get('/')).text), PROCESS_WAIT_MS)
})

test('a site that got another directory while the server was down shows nothing of the old one', async (t) => {
  const [blue, green] = [tempSite(t, siteFiles('blue')), tempSite(t, siteFiles('green'))]
  const server = await start(t, blue, 1)
  assert.match((await client(server)('/')).text, /blue/)
  await server.child.stop()
  const file = server.configFile ?? assert.fail('the server has a configuration file')
  writeFileSync(file, readFileSync(file, 'utf8').replace(blue, green))
  const get = client(await restart(t, server))
  for (let i = 0; i < 3; i++) assert.match((await get('/')).text, /green/)
})

test('in development an edit is seen by all', async (t) => {
  const root = tempSite(t, siteFiles('first'))
  const server = await startServer(t, { dir: root, env: { SVC_MASQUERADE_ROUTE_WATCH_MS: '100' } })
  const get = client(server, 'localhost')
  assert.match((await get('/')).text, /first/)
  writeFileSync(join(root, 'app/page.tsx'), page('second'))
  // One worker may hear of it a moment before the other.
  await waitFor(
    'every worker to show the edited page',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => get('/')))
      return answers.every(({ text }) => /second/.test(text))
    },
    PROCESS_WAIT_MS,
  )
})

test('pages whose parameters are known in advance are there before anyone asks', async (t) => {
  const files = {
    'app/posts/[slug]/page.tsx': `export function generateStaticParams() { return [{ slug: 'hello' }, { slug: 'a b' }] }
export default async function Page({ params }: any) { return <p>{(await params).slug}</p> }
`,
    'app/[...all]/route.ts': `export const revalidate = 60
export function generateStaticParams() { return [{ all: ['docs', 'intro'] }] }
export async function GET() { return new Response('a handler') }
`,
  }
  const server = await start(t, tempSite(t, files), 1)
  const get = client(server)
  const metrics = async () => (await get('/__svc/metrics')).text
  await waitFor('three entries', async () => /^cache_entries\{layer="l1"\} 3$/m.test(await metrics()), PROCESS_WAIT_MS)
  for (const path of ['/posts/hello', '/posts/a%20b', '/docs/intro']) {
    const answer = await get(path)
    assert.equal(answer.status, 200)
    assert.match(isr(answer), /^svc-isr; hit/, path)
  }
})
