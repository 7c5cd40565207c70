// Campaign: hostile directories of a site.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  Child,
  fetchHttp,
  PROCESS_WAIT_MS,
  startLoad,
  startServer,
  svcCommand,
  tempSite,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { hostileModules, hostileTrees } from './hostile-files.ts'

const page = (text: string) => `export default function Page() { return <p>${text}</p> }`

test("no content of a tenant's directory affects its neighbours, and its problems are reported by name", async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('mine'), 'app/[id]/page.tsx': page('id') })
  const neighbour = tempSite(t, {
    'app/page.tsx': `export const dynamic = 'force-dynamic'\n${page('unharmed')}`,
    'app/[id]/page.tsx': `export const generateStaticParams = () => [{ id: 'known' }]\n${page('known')}`,
  })
  for (const [i, put] of Object.values(hostileModules).entries()) {
    mkdirSync(join(root, `app/m${i}`))
    await put(join(root, `app/m${i}/sitemap.ts`))
  }
  const site = (id: string, dir: string) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${dir}"\n`
  const server = await startServer(t, { config: `${site('hostile', root)}\n${site('neighbour', neighbour)}` })
  const load = startLoad(t, {
    url: `${server.url}/`,
    host: 'neighbour.localhost',
    keepAlive: 2,
    fresh: 1,
    check: ({ status, text }) => (status === 200 && text.includes('unharmed') ? undefined : `${status} ${text.slice(0, 200)}`),
  })
  const get = (path: string) => fetchHttp(`${server.url}${path}`, { host: 'hostile.localhost' })
  const routes = async () => {
    const child = new Child(t, svcCommand, ['routes', 'hostile', '--config', server.configFile ?? ''])
    assert.equal((await child.exited).code, 0, child.stderr)
    return child.stdout + child.stderr
  }
  // Nothing was asked of the site so far: the log names it all the same. One of its texts crashes the parser.
  await server.child.waitForLine('the scan', (line) => /"site":"hostile".*the scan of .* failed/.test(line))
  assert.match(await routes(), new RegExp(`the scan of ${root} failed: its process ended`))
  assert.equal((await get('/')).status, 503)
  const names = Object.keys(hostileModules)
  for (const name of ['syntax without bottom', 'operators without bottom']) {
    writeFiles(root, { [`app/m${names.indexOf(name)}/sitemap.ts`]: 'export default () => []' })
  }
  await waitFor('the site to be served again', async () => (await get('/')).status === 200, 120_000)
  const listed = await routes()
  for (const name of [
    'a sparse file',
    'a link to a sparse file',
    'a link to an endless device',
    'a link out of the site',
    'a pipe',
    'a socket',
  ]) {
    assert.match(listed, new RegExp(`app/m${names.indexOf(name)}/sitemap.ts: cannot be read`), name)
  }
  for (const [i, put] of Object.values(hostileTrees).entries()) await put(join(root, `app/t${i}`))
  await waitFor(
    'the trees to be noticed',
    async () => {
      const found = await routes()
      return /has more than 20000 entries/.test(found) && /deep and is not served/.test(found)
    },
    120_000,
  )
  await waitFor(
    'what is known in advance',
    async () => {
      const known = await fetchHttp(`${server.url}/known`, { host: 'neighbour.localhost' })
      return known.status === 200
    },
    PROCESS_WAIT_MS,
  )
  const report = await load.stop()
  assert.deepEqual(report.failures, [])
  assert.ok(report.ok > 0)
  assert.doesNotMatch(server.child.stderr, /render host died|worker died/)
})
