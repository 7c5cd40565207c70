import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { client } from './backend.ts'
import { CachedOrigin } from './cached-origin.ts'

test("captures of a map from one client's fields are not in the response to another", async (t) => {
  const origin = await CachedOrigin.start(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=3600' }).end('page')
  })
  const upstream = `proxy_pass http://${origin.host}; proxy_cache on;`
  const dir = tempDir(t, 'captures')
  writeFiles(dir, {
    'web.conf': `map $http_x_kind $kind { ~^(?<family>[a-z]+) known; default other; }
      server { listen 127.0.0.1:0; svc_cache_status on; server_name a.localhost;
        location /family { proxy_set_header X-Kind $kind; add_header X-Family $family; add_header X-First "$1"; ${upstream} }
        location /plain { ${upstream} } }`,
  })
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n` })
  const get = client(server, 'a.localhost')
  const isHit = async (path: string) => {
    const { headers } = await get(path, { headers: { 'x-kind': 'mine' } })
    return String(headers['cache-status']).includes('svc-l0; hit')
  }
  for (let i = 0; i < 3; i++) assert.equal(await isHit('/family'), false)
  const { headers } = await get('/family')
  assert.deepEqual([headers['x-family'], headers['x-first']], [undefined, undefined])
  await waitFor('a hit of L0', () => isHit('/plain'), PROCESS_WAIT_MS)
})
