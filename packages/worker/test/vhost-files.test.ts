import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { VhostServer } from './vhost-server.ts'

const conf = `
server { listen {on0}; server_name a.test; root {dir}/www;
  location /al { alias {dir}/www/files/; }
  location /al-bare { alias {dir}/www/files; }
  location /re/ { rewrite ^/re/(.*)$ /../$1 break; }
  location /deep/ { rewrite ^/deep/(.*)$ /files/../$1 break; }
  location ~ ^/match/(.*)$ { alias {dir}/www/files/$1; }
  location /arg/ { root {dir}/www/$arg_dir; rewrite ^/arg(.*)$ $1 break; }
  location /whole/ { root $arg_dir; rewrite ^/whole(.*)$ $1 break; }
  location /try/ { try_files /../$arg_a $uri /a.txt; }
  location /idx/ { alias {dir}/www/files/; index ../../secret.txt a.txt; }
  location /idx-arg/ { alias {dir}/www/files/; index $arg_i; }
}
`

const files = {
  'secret.txt': 'secret',
  'www/a.txt': 'text a',
  'www/files/a.txt': 'text of files',
  'www/files/.dot': 'dot',
  'www/files2/x.txt': 'beside',
}

/** Paths that nothing may be found by. */
const leaving = [
  ...['/al../secret.txt', '/al../../secret.txt', '/al..%2f..%2fsecret.txt', '/re/secret.txt', '/re/../secret.txt'],
  ...[
    '/deep/../../secret.txt',
    '/match/../../secret.txt',
    '/arg/secret.txt?dir=..',
    '/arg/secret.txt?dir=../',
    '/arg/x?dir=../secret.txt%00',
  ],
  ...[
    '/arg/secret.txt?dir=files/../..',
    '/match/..%2f..%2fsecret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/a.txt%00',
    '/al/%00',
  ],
]

test('no URL leads out of the directories that the configuration names', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  for (const url of leaving) {
    const { status, text } = await server.get(url)
    assert.ok(status === 404 || status === 400, `${url}: ${status} ${text}`)
    assert.ok(!text.includes('secret\n') && text !== 'secret', url)
  }
})

test('paths that the configuration itself produces are not rejected', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  const ask = async (url: string) => (await server.get(url)).text
  assert.equal(await ask('/al../files/a.txt'), 'text of files', 'a way out and in again, as with nginx')
  assert.equal(await ask('/al-bare2/x.txt'), 'beside', 'the trap of an alias without its slash, as with nginx')
  assert.equal(await ask('/deep/a.txt'), 'text a')
  assert.equal(await ask('/al/.dot'), 'dot')
  assert.equal(await ask('/arg/a.txt?dir=files'), 'text of files')
  assert.equal(await ask('/try/x?a=secret.txt'), 'text a')
})

test('links are followed, as operators have made them', async (t) => {
  const server = await VhostServer.start(t, conf, files)
  const { dir } = server.pipeline
  symlinkSync(join(dir, 'secret.txt'), join(dir, 'www/linked.txt'))
  mkdirSync(join(dir, 'elsewhere'))
  writeFileSync(join(dir, 'elsewhere/x.txt'), 'linked directory')
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'www/there'))
  assert.equal((await server.get('/linked.txt')).text, 'secret')
  assert.equal((await server.get('/there/x.txt')).text, 'linked directory')
})

test('no part of a request ends a line of an answer', async (t) => {
  const server = await VhostServer.start(
    t,
    `server { listen {on0}; server_name a.test; root {dir}/www;
      location /to/ { return 302 http://other.test$uri; }
      location /field/ { add_header X-Uri "$uri"; return 200 "x"; }
      location /moved/ { rewrite ^/moved/(.*)$ /to-$1 permanent; } }`,
    { 'www/dir\r\nSet-Cookie: a=1/x': '' },
  )
  for (const path of [
    '/to/%0d%0aSet-Cookie:%20a=1',
    '/field/%0d%0aSet-Cookie:%20a=1',
    '/moved/%0d%0aSet-Cookie:%20a=1',
    '/dir%0d%0aSet-Cookie:%20a=1',
  ]) {
    const { headers, status } = await server.get(path)
    assert.equal(headers['set-cookie'], undefined, path)
    assert.ok(status < 500, path)
  }
})

test('the page of a redirect has no charset', async (t) => {
  const server = await VhostServer.start(
    t,
    'server { listen {on0}; server_name a.test; charset utf-8; location /to { return 301 /x; } location /text { return 200 "x"; } }',
  )
  const { status, headers } = await server.get('/to')
  assert.deepEqual([status, headers['content-type']?.includes('charset') ?? false], [301, false])
  assert.equal((await server.get('/text')).headers['content-type'], 'text/plain; charset=utf-8')
})

test('an unreadable file is 403 and is reported when it is requested', { skip: process.getuid?.() === 0 }, async (t) => {
  const server = await VhostServer.start(t, conf, files)
  const { chmodSync } = await import('node:fs')
  chmodSync(join(server.pipeline.dir, 'www/a.txt'), 0)
  assert.equal((await server.get('/a.txt')).status, 403)
  assert.match(server.pipeline.problems.join(), /cannot read/)
})
