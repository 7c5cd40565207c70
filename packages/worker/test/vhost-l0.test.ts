import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Purge, PurgeScope } from '@svc/cache'
import { waitFor } from '@svc/testkit'
import type { InjectOptions } from '../../engine/test/inject/index.ts'
import { addresses, VhostServer } from './vhost-server.ts'

const purgeOf = (number: number, scope: PurgeScope): Purge => ({ number, layers: ['isr'], mode: 'drop', scopes: [scope] })

/** Returns true if L0 eventually answers a repeated request. */
async function entersL0(server: VhostServer, url: string, options: Omit<InjectOptions, 'url'> = {}): Promise<boolean> {
  await server.get(url, options)
  await server.get(url, options)
  return (await server.l0(url, options)) === 'hit'
}

/** A file is kept when it is old enough to have a new time of change with its next change. */
function untilKept(server: VhostServer, url: string): Promise<unknown> {
  return waitFor(`${url} to be answered from L0`, async () => (await server.l0(url)) === 'hit')
}

const conf = `
map $http_x_mode $mode { default plain; }
map $arg_x $shared { default $uri; }
server { listen {on0}; server_name a.test; root {dir}/www;
  location /text { return 200 "text $uri $args $host $shared"; }
  location /spelled { return 200 $request_uri; }
  location /moved { return 301 /to; }
  location /own { return 200 "$http_x_mode"; }
  location /mapped { return 200 "$mode"; }
  location /cookie { add_header X-Cookie $cookie_a; return 200 "x"; }
  location /method { rewrite ^ /text?$request_method last; }
  location /id { add_header X-Id $request_id; return 200 "x"; }
  location /allowed/ { allow 127.0.0.1; deny all; try_files /a.txt =404; }
  location /guarded/ { auth_basic r; auth_basic_user_file {dir}/users; try_files /a.txt =404; }
  location = /passes { return 204; }
  location /asked/ { auth_request /passes; try_files /a.txt =404; }
  location /head-alone { limit_except HEAD { deny all; } alias {dir}/www/a.txt; }
  location /root-of/ { root {dir}/$http_x_dir; try_files /a.txt =404; }
  location /try/ { try_files $uri $uri.html /a.txt; }
  location /err/ { error_page 404 /a.txt; }
  location /fresh/ { expires 1h; try_files /a.txt =404; }
  location /unlogged/ { access_log off; return 200 "x"; }
  location /failing/ { error_page 502 =200 /a.txt; proxy_pass http://127.0.0.1:1; }
  location /raw/ { gzip off; return 200 "${'compressible '.repeat(200)}"; }
}
server { listen {on1}; server_name a.test; root {dir}/www; location / { return 200 "other address"; } }
`

const files = { 'www/a.txt': 'text a', 'www/b.html': 'text b', users: 'joe:{PLAIN}secret\n' }

test('a response that depends only on the key of L0 is answered from there', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  for (const url of ['/text', '/text/x?y=1', '/moved']) assert.ok(await entersL0(server, url), url)
  assert.equal((await server.get('/text/x?y=1')).text, 'text /text/x y=1 a.test /text/x')
  assert.equal((await server.get('/moved')).headers['location'], 'http://a.test:8080/to')
})

test('another spelling of a path is answered for itself', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  assert.ok(await entersL0(server, '/spelled'))
  for (const url of ['//spelled', '/x/../spelled', '/%73pelled']) {
    assert.equal(await entersL0(server, url), false, url)
    assert.equal((await server.get(url)).text, url)
  }
  assert.equal((await server.get('/../spelled')).status, 400)
})

test('a response that reads anything else, or is guarded, is never answered from L0', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  for (const url of ['/own', '/mapped', '/cookie', '/method', '/id']) assert.equal(await entersL0(server, url), false, url)
  await waitFor('files that are old enough', async () => (await server.l0('/a.txt')) === 'hit')
  const authorization = `Basic ${Buffer.from('joe:secret').toString('base64')}`
  for (const url of ['/allowed/', '/asked/', '/root-of/', '/failing/']) assert.equal(await entersL0(server, url), false, url)
  assert.equal(await entersL0(server, '/guarded/', { headers: { authorization } }), false)
  assert.equal((await server.get('/guarded/')).status, 401)
  assert.equal(await entersL0(server, '/head-alone', { method: 'HEAD' }), false)
  assert.equal((await server.get('/head-alone')).status, 403)
})

test('a file is answered from L0 for as long as the way to it is the same', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  await untilKept(server, '/try/b')
  assert.equal((await server.get('/try/b')).text, 'text a')
  writeFileSync(join(server.pipeline.dir, 'www/nothing'), 'x')
  server.pipeline.clock.advance(1_001)
  assert.equal(await server.l0('/try/b'), 'hit', 'another file says nothing of it')
  await server.reload(conf.replace('$uri.html', '/b.html'))
  assert.equal((await server.get('/try/b')).text, 'text b')
})

test('a file that comes in before the one that was found ends its life in L0', async (t) => {
  const server = await VhostServer.start(t, conf, { ...files, 'www/try/.keep': '' })
  await untilKept(server, '/try/new')
  writeFileSync(join(server.pipeline.dir, 'www/try/new.html'), 'now it is there')
  server.pipeline.clock.advance(1_001)
  assert.equal((await server.get('/try/new')).text, 'now it is there')
})

test('the page of an error is kept with its status until there is what was missing', async (t) => {
  const server = await VhostServer.start(t, conf, { ...files, 'www/err/.keep': '' })
  await untilKept(server, '/err/x')
  assert.equal((await server.get('/err/x')).status, 404)
  writeFileSync(join(server.pipeline.dir, 'www/err/x'), 'found')
  server.pipeline.clock.advance(1_001)
  assert.deepEqual([(await server.get('/err/x')).status, (await server.get('/err/x')).text], [200, 'found'])
  rmSync(join(server.pipeline.dir, 'www/err/x'))
})

test('addresses that answer differently have entries of their own', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  assert.ok(await entersL0(server, '/text'))
  const there = { listener: addresses[1] }
  assert.equal((await server.get('/text', there)).text, 'other address')
  assert.ok(await entersL0(server, '/text', there))
  assert.equal((await server.get('/text', there)).text, 'other address')
  assert.equal((await server.get('/text')).text, 'text /text  a.test /text')
})

test('another spelling of a path brings nothing into L0 that the path itself would not be answered', async (t) => {
  const spelled = `map $request_uri $who { default guest; ~^/admin admin; }
server { listen {on0}; server_name a.test;
  location /admin { return 200 "$who"; }
  location /re/ { rewrite ^/re/(.*)$ /to?x=$1 redirect; } }`
  const server = await VhostServer.start(t, spelled)
  for (const url of ['//admin', '/%61dmin', '/x/../admin', '/%72e/a&b']) {
    for (let i = 0; i < 3; i++) assert.equal(await server.l0(url), 'other', url)
  }
  assert.equal((await server.get('/admin')).text, 'admin')
  assert.equal((await server.get('/re/a&b')).headers['location'], 'http://a.test:8080/to?x=a&b')
})

test("a purge by path, host or label removes the responses of a vhost file's server", async (t) => {
  const scopes: PurgeScope[] = [
    { kind: 'paths', paths: ['/text/a'], hosts: ['a.test'] },
    { kind: 'hosts', hosts: ['a.test'] },
    { kind: 'tags', tags: ['route:a.test:/text/a'] },
    { kind: 'labels', labels: ['a.test'] },
  ]
  const server = await VhostServer.start(t, conf, files)
  for (const [index, scope] of scopes.entries()) {
    assert.ok(await entersL0(server, '/text/a'), JSON.stringify(scope))
    const purge = purgeOf(index + 1, scope)
    server.pipeline.ledger.add(purge)
    assert.equal(server.pipeline.l0.purge(purge), 1, JSON.stringify(scope))
    server.pipeline.ledger.settled(index + 1)
  }
})

test('a reload that changes a vhost file drops what it answered', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  assert.ok(await entersL0(server, '/moved'))
  await server.reload(conf)
  assert.equal(await server.l0('/moved'), 'hit', 'nothing has changed')
  await server.reload(conf.replace('301 /to', '301 /elsewhere'))
  assert.equal((await server.get('/moved')).headers['location'], 'http://a.test:8080/elsewhere')
})

test('fields that tell the time are never older than a second', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  await untilKept(server, '/fresh/')
  const maxAge = (await server.get('/fresh/')).headers['cache-control']
  assert.equal(maxAge, 'max-age=3600')
  // The clock of L0 has stood still all the while.
  server.pipeline.clock.advance(600_000)
  assert.equal(await server.l0('/fresh/'), 'other')
})

test('a location without access log is not logged when L0 answers either', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  assert.ok(await entersL0(server, '/unlogged/'))
  assert.ok(await entersL0(server, '/text'))
  const paths = (await server.pipeline.accessLog()).map(({ path }) => path)
  assert.deepEqual(paths, ['/text', '/text', '/text'])
})

test('"gzip off" holds for what comes from L0 as well', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  const headers = { 'accept-encoding': 'br, gzip' }
  assert.ok(await entersL0(server, '/raw/', { headers }))
  const { headers: fields } = await server.get('/raw/', { headers })
  assert.equal(fields['content-encoding'], undefined)
})
