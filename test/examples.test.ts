import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHttp, repositoryRoot, requireProgram, type Server, startBrowser, startServer } from '@svc/testkit'

/** The example configuration with its sites at their real places. */
function exampleConfig(): string {
  const dir = join(repositoryRoot, 'examples')
  const text = readFileSync(join(dir, 'svc.config.toml'), 'utf8').replaceAll(/^(state_dir|run_dir|dir) = .*$/gm, '')
  return text
    .replace(/^listen = .*$/m, 'listen = "127.0.0.1:0"')
    .replaceAll(/^root = "(.*)"$/gm, (_, root) => `root = "${join(dir, root)}"`)
}

function startExamples(t: TestContext): Promise<Server> {
  return startServer(t, { config: exampleConfig() })
}

test('the three example sites answer by host name', async (t) => {
  const server = await startExamples(t)
  assert.equal(server.ready.sites, 3)
  for (const host of ['blog.localhost', 'shop.localhost', 'static.localhost']) {
    const answer = await fetchHttp(`${server.url}/`, { host })
    assert.equal(answer.status, 200, `${host}: ${answer.text.slice(0, 500)}`)
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/)
    assert.match(answer.text, /<\/html>\s*$/)
  }
})

test('health, metrics and the listing of unknown paths are there on any host', async (t) => {
  const server = await startExamples(t)
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
  const server = await startExamples(t)
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
