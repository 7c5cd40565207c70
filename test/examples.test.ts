import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { Child, fetchHttp, repositoryRoot, requireProgram, type Server, startBrowser, startServer, tempDir } from '@svc/testkit'
import { fileCleanup } from './file-cleanup.ts'

/** The example configuration with its sites at their real places. */
function exampleConfig(): string {
  const dir = join(repositoryRoot, 'examples')
  const text = readFileSync(join(dir, 'svc.config.toml'), 'utf8').replaceAll(/^(state_dir|run_dir|dir) = .*$/gm, '')
  return text
    .replace(/^listen = .*$/m, 'listen = "127.0.0.1:0"')
    .replaceAll(/^root = "(.*)"$/gm, (_, root) => `root = "${join(dir, root)}"`)
}

/** The example with vhost files, on a free port, with its API at this address. */
function startVhosts(t: TestContext, api: string): Promise<Server> {
  const dir = join(tempDir(t, 'example'), 'vhosts')
  cpSync(join(repositoryRoot, 'examples/vhosts'), dir, { recursive: true, filter: (path) => !path.includes('.svc') })
  const file = join(dir, 'sites-enabled/garden.conf')
  const text = readFileSync(file, 'utf8').replaceAll('listen 127.0.0.1:8090', 'listen 127.0.0.1:0')
  writeFileSync(file, text.replace('server 127.0.0.1:8091', `server ${api}`))
  const config = readFileSync(join(dir, 'svc.config.toml'), 'utf8').replaceAll(/^(state_dir|run_dir|dir) = .*$/gm, '')
  return startServer(t, { config: config.replace('"sites-enabled/', `"${dir}/sites-enabled/`) })
}

const cleanup = fileCleanup()
let server: Server
before(async () => {
  server = await startServer(cleanup, { config: exampleConfig() })
})

test('the three example sites answer by host name', async () => {
  assert.equal(server.ready.sites, 3)
  for (const host of ['blog.localhost', 'shop.localhost', 'static.localhost']) {
    const answer = await fetchHttp(`${server.url}/`, { host })
    assert.equal(answer.status, 200, `${host}: ${answer.text.slice(0, 500)}`)
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/)
    assert.match(answer.text, /<\/html>\s*$/)
  }
})

test('health, metrics and the listing of unknown paths are there on any host', async () => {
  const health = await fetchHttp(`${server.url}/__svc/health`, { host: 'blog.localhost' })
  assert.equal(health.status, 200, health.text)
  assert.equal(JSON.parse(health.text).status, 'healthy')
  assert.equal(JSON.parse((await fetchHttp(`${server.url}/health`)).text).status, 'ok')
  await fetchHttp(`${server.url}/`, { host: 'blog.localhost' })
  const metrics = await fetchHttp(`${server.url}/metrics`)
  assert.match(metrics.text, /^http_requests_total\{.*path_group="\/".*\} \d+$/m)
  const unknown = await fetchHttp(`${server.url}/__svc/nothing`)
  assert.equal(unknown.status, 404)
  assert.equal(JSON.parse(unknown.text).code, 'unknown_endpoint')
})

test('a browser shows the example sites without an error', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const browser = await startBrowser(t, executable)
  const port = new URL(server.url).port
  for (const host of ['blog.localhost', 'shop.localhost', 'static.localhost']) {
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`)
    })
    await page.goto(`http://${host}:${port}/`, { waitUntil: 'load' })
    assert.ok((await page.title()).length > 0, `${host} has a title`)
    assert.ok(await page.locator('h1').first().isVisible(), `${host} shows a heading`)
    assert.deepEqual(problems, [], host)
    await page.close()
  }
})

test('the example with vhost files serves files, redirects, and sends on to its API', async (t) => {
  const api = new Child(t, process.execPath, [join(repositoryRoot, 'examples/vhosts/api.mjs')], {
    env: { ...process.env, PORT: '0' },
  })
  const { host } = new URL(await api.waitForLine('address', (line) => line.startsWith('http://')))
  const server = await startVhosts(t, host)
  assert.equal(server.ready.listen.length, 1, 'nothing but what the vhost file says')
  const get = (path: string, name = 'garden.localhost') => fetchHttp(`${server.url}${path}`, { host: name })
  for (const path of ['/', '/beds', '/beds.html']) {
    const { status, headers, text } = await get(path)
    assert.equal(status, 200, path)
    assert.match(text, /<h1>The (garden|beds)<\/h1>/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  }
  assert.equal((await get('/assets/garden.css')).headers['cache-control'], 'max-age=2592000')
  const missing = await get('/sheds')
  assert.deepEqual([missing.status, /Nothing grows here/.test(missing.text)], [404, true])
  const redirects = [await get('/beds?x=1', 'www.garden.localhost'), await get('/2019/beds.php')]
  assert.deepEqual(
    redirects.map(({ status, headers }) => [status, headers.location]),
    [
      [301, 'http://garden.localhost:8090/beds?x=1'],
      [301, `http://garden.localhost:${new URL(server.url).port}/beds`],
    ],
  )
  const plants = await get('/api/plants?bed=2')
  assert.deepEqual(JSON.parse(plants.text), [{ name: 'pumpkin', bed: 2 }])
  await api.stop()
  const without = await get('/api/plants')
  assert.deepEqual([without.status, /The API is not running/.test(without.text)], [502, true])
})
