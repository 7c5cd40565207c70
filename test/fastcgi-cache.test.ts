import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireProgram, startPhpFpm, startServer, tempDir, writeFiles } from '@svc/testkit'
import { client, isStored } from './backend.ts'

test('answers of a FastCGI application are cached by what they say, and by the rules of the location', async (t) => {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined) return
  const php = await startPhpFpm(t, executable)
  const dir = tempDir(t, 'php-cache')
  const control = `<?php if (isset($_GET['s'])) header('Cache-Control: max-age=3600'); if (isset($_GET['c'])) setcookie('a', 'b');`
  writeFiles(dir, {
    'www/made.php': `${control} echo uniqid('', true), ' ', $_SERVER['QUERY_STRING'];`,
    'www/index.php': `<?php header('Cache-Control: max-age=3600'); echo uniqid('', true), ' ', $_SERVER['REQUEST_URI'];`,
    'web.conf': `server { listen 127.0.0.1:0; server_name a.localhost; root ${dir}/www; gzip off;
      location / { try_files $uri /index.php?$args; }
      location ~ \\.php$ { include fastcgi.conf; fastcgi_pass ${php.address}; fastcgi_cache zone; fastcgi_cache_valid 404 1h; } }`,
  })
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n` })
  const get = client(server, 'a.localhost')
  assert.equal(await isStored(get, '/made.php?s=1'), true)
  assert.equal(await isStored(get, '/made.php'), false)
  assert.equal(await isStored(get, '/made.php?s=1&c=1'), false)
  // One script answers for many paths: each response is stored for itself.
  assert.equal(await isStored(get, '/post/1'), true)
  assert.equal(await isStored(get, '/post/2'), true)
  const kept = (await get('/post/1')).text
  assert.match(kept, / \/post\/1$/)
  assert.equal((await get('/post/1', { method: 'POST', body: 'x' })).status, 200)
  assert.notEqual((await get('/post/1')).text, kept)
})

test('parameters of a FastCGI application count for its cache like fields', async (t) => {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined) return
  const php = await startPhpFpm(t, executable)
  const dir = tempDir(t, 'php-fields')
  const fields = ['AUTHORIZATION', 'COOKIE', 'IF_NONE_MATCH'].map((name) => [name, `$http_${name.toLowerCase()}`])
  const told = fields.map(([name, value]) => `fastcgi_param HTTP_${name} ${value};`).join(' ')
  writeFiles(dir, {
    'www/who.php': `<?php header('Cache-Control: max-age=3600'); if (isset($_GET['c'])) header('Vary: Cookie');
      foreach (['AUTHORIZATION', 'COOKIE', 'IF_NONE_MATCH'] as $name) echo $_SERVER["HTTP_$name"] ?? '', ';';`,
    'web.conf': `server { listen 127.0.0.1:0; server_name a.localhost; root ${dir}/www; gzip off;
      location ~ \\.php$ { include fastcgi.conf; ${told} fastcgi_pass ${php.address}; fastcgi_cache zone; } }`,
  })
  const server = await startServer(t, { config: `[server]\nworkers = 1\nvhosts = ["${dir}/web.conf"]\n` })
  const get = client(server, 'a.localhost')
  const text = async (path: string, headers: Record<string, string> = {}) => (await get(path, { headers })).text
  assert.equal(await text('/who.php', { authorization: 'Basic x' }), 'Basic x;;;')
  assert.equal(await text('/who.php'), ';;;')
  assert.equal(await text('/who.php?c', { cookie: 'id=a' }), ';id=a;;')
  assert.equal(await text('/who.php?c', { cookie: 'id=b' }), ';id=b;;')
  // The conditions of a client are no business of who makes the answer for all.
  assert.equal(await text('/who.php?n', { 'if-none-match': '"1"' }), ';;;')
})
