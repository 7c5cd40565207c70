import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { readDir } from './read-text.ts'

const nginxConf = `
user www-data; worker_processes auto; pid /run/nginx.pid; error_log logs/error.log warn; include modules-enabled/*.conf;
events { worker_connections 768; multi_accept on; }
http {
  sendfile on; types_hash_max_size 2048; include mime.types; default_type application/octet-stream;
  log_format own '$remote_addr'; gzip off;
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  include sites-enabled/*.conf;
}
`

const files = {
  'nginx.conf': nginxConf,
  'mime.types': 'types { text/html html; }',
  'modules-enabled/50-echo.conf': 'load_module modules/ngx_http_echo_module.so;',
  'snippets/proxy.conf': 'proxy_set_header Connection $connection_upgrade;',
  'sites-enabled/a.conf': `server { listen 80; server_name a.test; root www; auth_basic_user_file conf/users;
    location / { proxy_pass http://127.0.0.1:1; include snippets/proxy.conf; } }`,
  'sites-enabled/snippets/proxy.conf': 'frob;',
}

test('a whole nginx.conf is read with all that it includes, relative to its directory', async (t) => {
  const dir = tempDir(t, 'whole')
  writeFiles(dir, files)
  const { lines, web, sites, ignored, needs } = await readDir(dir, {}, 'nginx.conf')
  assert.deepEqual(lines, [])
  assert.deepEqual(
    sites.map(({ id }) => id),
    ['a.test'],
  )
  const [server] = web.servers
  assert.equal(server?.fallback.compression, 'off')
  assert.deepEqual(server?.fallback.files?.dir, [join(dir, 'www')])
  const content = server?.locations[0]?.content
  assert.deepEqual(content?.kind === 'proxy' && content.setHeaders.map(({ name }) => name), ['Connection'])
  assert.deepEqual(
    needs.map(({ path }) => path),
    [join(dir, 'www'), join(dir, 'conf/users')],
  )
  assert.deepEqual(server?.locations[0]?.types, [0])
  assert.deepEqual([web.typeTables[0], server?.fallback.defaultType], [[['html', 'text/html']], 'application/octet-stream'])
  const names = new Set(ignored.map(({ name }) => name))
  for (const name of ['user', 'worker_processes', 'pid', 'error_log', 'load_module', 'worker_connections'])
    assert.ok(names.has(name), name)
})

test('mistakes outside of http are reported, and blocks of other protocols', async (t) => {
  const dir = tempDir(t, 'whole')
  const text = `usr x;
events { worker_connections 1 2; frob; sendfile on; }
http { server { listen 80; } user x; events { } }
stream { server { listen 1; } }
server { listen 81; }
root /x;
`
  writeFiles(dir, { 'nginx.conf': text })
  const { lines } = await readDir(dir, {}, 'nginx.conf')
  assert.deepEqual(
    lines.map((line) => line.replace(/^nginx\.conf:/, '').replace(/ \(.*/, '')),
    [
      '1:1: unknown directive "usr"',
      '2:10: invalid number of arguments in "worker_connections" directive',
      '2:34: unknown directive "frob"',
      '2:40: "sendfile" directive is not allowed here',
      '3:30: "user" belongs in nginx.conf, outside of http {}',
      '4:1: directive "stream" is not available here',
      '5:1: "server" directive is not allowed here',
      '6:1: "root" directive is not allowed here',
    ],
  )
})
