import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { startServer, tempDir, writeFiles } from '@svc/testkit'
import { CachedOrigin } from './cached-origin.ts'

/** Asks for a path as it is written. */
async function ask(url: string, path: string, host = 'a.localhost'): Promise<{ text: string; cacheStatus: string }> {
  const { hostname, port } = new URL(url)
  const asked = request({ hostname, port, path, headers: { host }, agent: false }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { text: Buffer.concat(chunks).toString(), cacheStatus: String(response.headers['cache-status']) }
}

test('a response to an odd spelling of a path or a host is not stored for the plain one', async (t) => {
  const origin = await CachedOrigin.start(t, ({ headers }, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600' }).end(`${headers['x-asked']} of ${headers.host}`)
  })
  const fields = 'proxy_set_header Host $http_host; proxy_set_header X-Asked $request_uri;'
  const location = `location / { rewrite ^ /front break; ${fields} proxy_pass http://${origin.host}; proxy_cache on; }`
  const dir = tempDir(t, 'spelling')
  writeFiles(dir, { 'web.conf': `server { listen 127.0.0.1:0; svc_cache_status on; server_name a.localhost; ${location} }` })
  const { url } = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n` })
  for (const path of ['/x/../page', '//page', '/%70age']) assert.equal((await ask(url, path)).text, `${path} of a.localhost`)
  for (const host of ['a.localhost.', 'a.localhost:80']) assert.equal((await ask(url, '/page', host)).text, `/page of ${host}`)
  const first = await ask(url, '/page')
  assert.equal(first.text, '/page of a.localhost')
  assert.match(first.cacheStatus, /svc-proxy; fwd=uri-miss; stored/)
  assert.match((await ask(url, '/page')).cacheStatus, /svc-proxy; hit/)
})
