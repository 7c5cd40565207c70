import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { type Case, Differential, freePlaces } from './nginx/differential.ts'

const conf = `
limit_req_zone $arg_k zone=minute:64k rate=1r/m;
limit_req_zone $binary_remote_addr zone=client:64k rate=2r/m;
limit_req_zone $arg_k$arg_l zone=pair:1m rate=6r/m;
limit_conn_zone $arg_k zone=open:64k;
server { listen {on0}; server_name a.test; svc_site a; root {dir}; add_header X-Req "$limit_req_status" always; add_header X-Conn "$limit_conn_status" always;
  location /strict { limit_req zone=minute; alias {dir}/page.txt; }
  location /burst { limit_req zone=minute burst=3 nodelay; limit_req_status 429; alias {dir}/page.txt; }
  location /first-free { limit_req zone=minute burst=2 delay=2; alias {dir}/page.txt; }
  location /client { limit_req zone=client; alias {dir}/page.txt; }
  location /both { limit_req zone=minute burst=1 nodelay; limit_req zone=pair burst=5 nodelay; alias {dir}/page.txt; }
  location /dry { limit_req zone=minute; limit_req_dry_run on; limit_conn open 1; limit_conn_dry_run on; alias {dir}/page.txt; }
  location /page { limit_req zone=minute; error_page 503 =200 /strict?k=page; alias {dir}/page.txt; }
  location /named { limit_req zone=minute; error_page 503 = @busy; alias {dir}/page.txt; }
  location @busy { return 200 "busy $limit_req_status"; }
  location /returned { limit_req zone=minute; return 200 "returned"; }
  location /denied { limit_req zone=minute; deny all; alias {dir}/page.txt; }
  location /in/ { limit_req zone=minute; location /in/own { limit_req zone=pair; alias {dir}/page.txt; } location /in/inherited { alias {dir}/page.txt; } }
  location /rewritten { limit_req zone=minute; rewrite ^ /burst last; }
  location /tried { limit_req zone=minute; try_files /none /burst; }
  location = /auth { internal; limit_req zone=minute; proxy_pass http://{echo}/?$args; }
  location /authorized { auth_request /auth; alias {dir}/page.txt; }
  location /open { limit_conn open 1; proxy_pass http://{echo}/; }
  location /if { limit_req zone=minute; if ($arg_a) { set $b 1; } alias {dir}/page.txt; }
  location /methods { limit_req zone=minute; limit_except GET { deny all; } alias {dir}/page.txt; }
}
`

/** The same request, several times. */
function times(count: number, target: string, more: Omit<Case, 'target'> = {}): Case[] {
  return Array.from({ length: count }, () => ({ target, ...more }))
}

test('rates are limited as by nginx', async (t) => {
  const servers = await Differential.start(t, { conf, files: { 'page.txt': 'page\n' } })
  if (servers === undefined) return
  await servers.compare(t, [
    ...times(3, '/strict?k=a'),
    ...times(2, '/strict'),
    ...times(1, '/strict?k=b', { status: 200 }),
    ...times(6, '/burst?k=c'),
    ...times(1, '/burst?k=c', { status: 429 }),
    ...times(4, '/first-free?k=d'),
    ...times(3, '/client', { from: '127.0.0.1' }),
    ...times(1, '/client', { from: '127.0.0.9', status: 200 }),
    ...times(3, '/both?k=e&l=1'),
    ...times(2, '/both?k=e&l=2'),
    ...times(3, '/dry?k=f'),
    ...times(3, '/page?k=g'),
    ...times(3, '/named?k=h'),
    ...times(3, '/returned?k=i', { status: 200 }),
    ...times(2, '/denied?k=j'),
    ...times(2, '/in/inherited?k=k'),
    ...times(2, '/in/own?k=l'),
    ...times(5, '/rewritten?k=m'),
    ...times(3, '/tried?k=n'),
    ...times(3, '/authorized?k=o'),
    ...times(3, '/open?k=p'),
    ...times(2, '/if?k=q&a=1'),
    ...times(1, '/methods?k=r', { method: 'POST' }),
    ...times(2, '/methods?k=r'),
    ...times(2, `/strict?k=${'long'.repeat(100)}`),
    ...times(1, `/strict?k=${'long'.repeat(99)}more`, { status: 200 }),
  ])
})

test('workers have one budget, and requests in progress end with their clients', async (t) => {
  const held: ServerResponse[] = []
  const upstream = createServer((_request, response) => void held.push(response)).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const { port } = upstream.address() as AddressInfo
  const [place] = await freePlaces(1)
  const address = `${place?.hosts[0]}:${place?.port}`
  const dir = tempDir(t, 'limits')
  writeFiles(dir, {
    'vhosts.conf': `limit_req_zone $arg_k zone=r:1m rate=1r/m; limit_conn_zone $arg_k zone=c:1m;
server { listen ${address}; location /r { limit_req zone=r burst=9 nodelay; limit_req_status 429; try_files /none =204; }
  location /c { limit_conn c 3; proxy_pass http://127.0.0.1:${port}; } }`,
  })
  await startServer(t, { config: `[server]\nvhosts = ["${dir}/vhosts.conf"]\nworkers = 3\n` })
  const status = async (target: string, signal?: AbortSignal) => {
    const init = { headers: { connection: 'close' }, ...(signal === undefined ? {} : { signal }) }
    const response = await fetch(`http://${address}${target}`, init)
    await response.arrayBuffer()
    return response.status
  }
  const statuses = await Promise.all(Array.from({ length: 60 }, () => status('/r?k=1')))
  assert.equal(statuses.filter((each) => each !== 429).length, 10)
  const clients = [new AbortController(), new AbortController(), new AbortController()]
  const open = clients.map(({ signal }) => status('/c?k=1', signal).catch(() => 0))
  await waitFor('three requests at the upstream', () => held.length === 3)
  for (let i = 0; i < 20; i++) assert.equal(await status('/c?k=1'), 503)
  clients[0]?.abort()
  assert.equal(await open[0], 0)
  await waitFor('room for another', async () => {
    const next = status('/c?k=1')
    const answered = await Promise.race([next, waitFor('it to arrive', () => held.length === 4).then(() => 0)])
    return answered === 0
  })
  for (const response of held) response.end('done')
  assert.deepEqual(await Promise.all(open.slice(1)), [200, 200])
})
