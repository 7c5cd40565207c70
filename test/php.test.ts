import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  fetchHttp,
  type HttpAnswer,
  type PhpPeer,
  PROCESS_WAIT_MS,
  requireProgram,
  type Server,
  startPhpFpm,
  startServer,
  tempDir,
  waitFor,
  writeFiles,
} from '@svc/testkit'

/** Counts its calls in a file, and says which one this is. */
const counter = `<?php
$calls = (int) @file_get_contents(__DIR__ . '/calls') + 1;
file_put_contents(__DIR__ . '/calls', $calls);
if (isset($_GET['age'])) header('Cache-Control: max-age=' . $_GET['age']);
if (isset($_GET['cookie'])) setcookie('a', '1');
header('ETag: "e"');
$seen = $_SERVER['HTTP_IF_NONE_MATCH'] ?? 'none';
if ($seen === '"e"' && isset($_GET['unchanged'])) { http_response_code(304); exit; }
echo $_SERVER['REQUEST_METHOD'], ' ', $calls;
`

interface PhpProduct {
  readonly server: Server
  readonly php: PhpPeer
  readonly dir: string
  readonly url: string
}

/** The product in front of php-fpm. `rules`: of the configuration file; `{php}` is the address of the PHP server. */
async function startProduct(t: TestContext, rules = ''): Promise<PhpProduct | undefined> {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined) return undefined
  const php = await startPhpFpm(t, executable)
  const dir = tempDir(t, 'www')
  writeFiles(dir, {
    'count.php': counter,
    'web.conf': `server { listen 127.0.0.1:0; svc_cache_status on; root ${dir};
      location ~ \\.php$ { fastcgi_pass ${php.address}; include fastcgi.conf; fastcgi_cache on; fastcgi_cache_valid 404 1m; } }`,
  })
  const server = await startServer(t, { config: `[server]\nworkers = 2\nvhosts = ["${join(dir, 'web.conf')}"]\n${rules}` })
  return { server, php, dir, url: server.url }
}

/** The answer once it comes from a cache: what has been sent is stored a little later. */
function untilCached(url: string, word: string): Promise<HttpAnswer> {
  return waitFor(
    `${word} at ${url}`,
    async () => {
      const answer = await fetchHttp(url)
      return String(answer.headers['cache-status']).includes(word) ? answer : undefined
    },
    PROCESS_WAIT_MS,
  )
}

test('answers of PHP are kept as long as they say, for all workers', async (t) => {
  const product = await startProduct(t)
  if (product === undefined) return
  const url = `${product.url}/count.php`
  const get = async (query: string, method = 'GET') => (await fetchHttp(`${url}?${query}`, { method })).text
  for (const text of ['GET 1', 'GET 2']) assert.equal(await get('x'), text)
  const { text: kept } = await untilCached(`${url}?age=600`, 'svc-proxy; hit')
  for (let i = 0; i < 6; i++) assert.equal(await get('age=600'), kept)
  assert.notEqual(await get('age=600&cookie'), await get('age=600&cookie'), 'an answer with a cookie is nobody else’s')
  assert.match(await get('age=600', 'POST'), /^POST /)
})

test('an expired response is revalidated by its tag', async (t) => {
  const product = await startProduct(t)
  if (product === undefined) return
  const calls = () => Number(readFileSync(join(product.dir, 'calls'), 'utf8'))
  const url = `${product.url}/count.php?age=0&unchanged`
  const { status, text } = await untilCached(url, 'svc-proxy; fwd=stale; stored')
  assert.equal(status, 200)
  assert.ok(calls() > Number(text.split(' ')[1]), 'PHP was asked, and had nothing new')
})

test('a rule leads to PHP, and a reload changes rules', async (t) => {
  const rule = (pattern: string) => `[[route_rules]]\npattern = "${pattern}"\nrewrite = "/count.php"\n`
  const product = await startProduct(t, rule('/first/**'))
  if (product === undefined) return
  const { server, url } = product
  const get = (path: string) => fetchHttp(`${url}${path}`)
  assert.equal((await get('/first/x')).text, 'GET 1')
  assert.equal((await get('/second/x')).status, 404)
  const file = server.configFile ?? assert.fail('the server has a configuration file')
  writeFileSync(file, readFileSync(file, 'utf8').replace(rule('/first/**'), rule('/second/:page')))
  server.child.signal('SIGHUP')
  await server.child.waitForLine('the reload', (line) => line.includes('"msg":"reloaded"'))
  assert.equal((await get('/second/x')).text, 'GET 2')
  assert.equal((await get('/first/x')).status, 404)
})
