import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, startServer, talk, tempDir, writeFiles } from '@svc/testkit'
import { client } from './backend.ts'
import { CachedOrigin, cachingConfig } from './cached-origin.ts'

const fresh = { 'cache-control': 'max-age=3600', 'content-type': 'text/plain' }

test("one client's request does not change another client's response", async (t) => {
  // An upstream that believes everything it is told.
  const origin = await CachedOrigin.start(t, (request, response) => {
    const told = ['x-forwarded-host', 'x-forwarded-scheme', 'x-forwarded-proto', 'x-original-url', 'x-host', 'forwarded']
    const believed = told.flatMap((name) => (request.headers[name] === undefined ? [] : [`${name}: ${request.headers[name]}`]))
    let body = ''
    request.on('data', (data) => {
      body += data
    })
    request.on('end', () => response.writeHead(200, fresh).end(JSON.stringify({ url: request.url, believed, body })))
  })
  const server = await startServer(t, { config: cachingConfig(t, origin) })
  const get = client(server, 'a.localhost')
  const shown = async (path: string) => JSON.parse((await get(path)).text) as { url: string; believed: string[]; body: string }

  // Fields that only a trusted proxy may send do not come through.
  for (const name of ['x-forwarded-host', 'x-forwarded-proto', 'forwarded']) {
    await get(`/${name}`, { headers: { [name]: name === 'forwarded' ? 'host=evil.test' : 'evil.test' } })
    assert.deepEqual((await shown(`/${name}`)).believed, [], name)
  }

  // A body of GET makes an answer for its sender alone.
  const fat = await get('/fat', { headers: { 'content-length': '4' }, body: 'evil' })
  assert.equal((JSON.parse(fat.text) as { body: string }).body, 'evil')
  assert.equal((await shown('/fat')).body, '')

  // A spelling that servers read in different ways is never stored.
  for (const path of ['/x%2fy', '/x%5Cy']) {
    await get(path)
    assert.match(String((await get(path)).headers['cache-status']), /svc-proxy; fwd=bypass; detail=path/, path)
  }

  // Another spelling of a path is sent on as it is, and kept for itself.
  const spelled = await talk(
    connect(Number(new URL(server.url).port), '127.0.0.1'),
    'GET /a/../b HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n',
  )
  assert.match(spelled, /"url":"\/a\/\.\.\/b"/)
  assert.equal((await shown('/b')).url, '/b')

  // Neither is what another host or port was told.
  const other = await fetchHttp(`${server.url}/host`, { host: 'b.localhost' })
  assert.match(String(other.headers['cache-status']), /fwd=uri-miss/)
  assert.match(String((await get('/host')).headers['cache-status']), /fwd=uri-miss/)
  const port = await fetchHttp(`${server.url}/host`, { host: 'a.localhost:99' })
  assert.match(String(port.headers['cache-status']), /svc-proxy; fwd=uri-miss/)
})

test('a response that depends on a field is not shared when the location hides Vary', async (t) => {
  const origin = await CachedOrigin.start(t, ({ headers }, response) => {
    response.writeHead(200, { ...fresh, vary: 'X-Language' }).end(String(headers['x-language']))
  })
  const dir = tempDir(t, 'hidden-vary')
  const location = `location / { proxy_pass http://${origin.host}; proxy_cache on; proxy_hide_header Vary; }`
  writeFiles(dir, { 'web.conf': `server { listen 127.0.0.1:0; svc_cache_status on; server_name a.localhost; ${location} }` })
  const get = client(await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n` }), 'a.localhost')
  const text = async (language: string) => (await get('/', { headers: { 'x-language': language } })).text
  // As often as L0 wants to be asked.
  for (let i = 0; i < 4; i++) assert.equal(await text('de'), 'de')
  assert.equal(await text('en'), 'en')
})
