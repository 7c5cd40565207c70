import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { formatProblem } from '../src/syntax/config-problem.ts'
import { answersCases } from './cases/answers.ts'
import { fileOf } from './cases/case.ts'
import { grammarCases } from './cases/grammar.ts'
import { guardsCases } from './cases/guards.ts'
import { servingCases } from './cases/serving.ts'
import { upstreamsCases } from './cases/upstreams.ts'
import { readDir, readFiles } from './read-text.ts'

const groups = {
  grammar: grammarCases,
  guards: guardsCases,
  serving: servingCases,
  answers: answersCases,
  upstreams: upstreamsCases,
}

for (const [name, cases] of Object.entries(groups)) {
  test(`mistakes are reported with their position: ${name}`, async (t) => {
    const root = tempDir(t, 'vhost-cases')
    for (const [index, item] of cases.entries()) {
      const dir = join(root, String(index))
      const { text, linesBefore } = fileOf(item, '/dir')
      writeFiles(dir, { 'a.conf': text })
      const { problems } = await readDir(dir, { hasCertificates: false })
      const lines = problems.map((problem) =>
        formatProblem({ ...problem, line: problem.line - linesBefore })
          .replaceAll(`${dir}/a.conf:`, '')
          .replaceAll(dir, '$DIR'),
      )
      assert.deepEqual(lines, item[2] ?? [], `${item[0]}: ${item[1]}`)
    }
  })
}

test('all problems are reported at once, in the order of the file', async (t) => {
  const text =
    'server {\n  listen 99999;\n  rot /x;\n  location / {\n    proxy_pass ftp://x;\n    expires x;\n  }\n  gzip 1;\n}\n}\n'
  const { lines } = await readFiles(t, { 'a.conf': text })
  assert.deepEqual(lines, [
    'a.conf:2:10: invalid port in "99999" of the "listen" directive',
    'a.conf:3:3: unknown directive "rot" (did you mean "root"?)',
    'a.conf:5:16: invalid URL prefix (expected http:// or https://)',
    'a.conf:6:13: invalid value "x" in "expires" directive',
    'a.conf:8:8: invalid value "1" in "gzip" directive, it must be "on" or "off"',
    'a.conf:10:1: unexpected "}"',
  ])
})

test('a missing semicolon is reported at the end of its line, and the lines after it are read', async (t) => {
  const text = 'server {\n  server_name a.org\n  root /srv\n  index x.html;\n  gzip maybe;\n}\n'
  const { lines, web } = await readFiles(t, { 'a.conf': text })
  assert.deepEqual(lines, [
    'a.conf:2:20: directive "server_name" is not terminated by ";"',
    'a.conf:3:12: directive "root" is not terminated by ";"',
    'a.conf:5:8: invalid value "maybe" in "gzip" directive, it must be "on" or "off"',
  ])
  assert.deepEqual(web.servers[0]?.names, [{ kind: 'name', name: 'a.org' }])
})

test('columns count characters, not bytes, and lines may end with CRLF', async (t) => {
  const text = '\ufeffserver {\r\n  add_header "é☃𝒳" x; gzip ä;\r\n}\r\n'
  const { lines } = await readFiles(t, { 'a.conf': text })
  assert.deepEqual(lines, [
    'a.conf:2:14: invalid field name "é☃𝒳" in "add_header" directive',
    'a.conf:2:28: invalid value "ä" in "gzip" directive, it must be "on" or "off"',
  ])
})

test('valid text that is probably a typo causes a notice', async (t) => {
  const text = [
    'upstream api { server 127.0.0.1:1; }',
    'server { listen 80;',
    'location /d { proxy_pass http://apii; } location /e { proxy_pass http://other; } location /f { proxy_pass http://api.; } }',
  ]
  const { lines, notices } = await readFiles(t, { 'a.conf': text.join('\n') })
  assert.deepEqual(lines, [])
  assert.deepEqual(notices, ['a.conf:3:15: upstream "apii" is not defined: it is resolved as a host name (did you mean "api"?)'])
})

test('an upstream that the client chooses is noticed, one that a map or the configuration chooses is not', async (t) => {
  const passes = [
    'proxy_pass http://$arg_to;',
    'proxy_pass https://api-$http_x.test:8443;',
    'proxy_pass http://$cookie_a$request_uri;',
    'proxy_pass http://$1;',
    'proxy_pass http://$host$uri;',
    'fastcgi_pass unix:/run/$args.sock;',
    'proxy_pass http://$backend$request_uri;',
    'proxy_pass http://10.0.0.1:8080$request_uri;',
    'proxy_pass http://10.0.0.1/$arg_x/$1;',
    'proxy_pass http://$server_name;',
  ]
  const locations = passes.map((pass, at) => `location ~ ^/${at}(.*) { ${pass} }`)
  const text = ['map $arg_to $backend { default 10.0.0.1; a 10.0.0.2; }', 'server { server_name a.test;', ...locations, '}']
  const { lines, notices } = await readFiles(t, { 'a.conf': text.join('\n') })
  assert.deepEqual(lines, [])
  assert.deepEqual(
    notices.map((notice) =>
      /^a\.conf:(\d+):22: "\$(\w+)" lets the client choose the server that "(\w+)" connects to/.exec(notice)?.slice(1),
    ),
    [
      ['3', 'arg_to', 'proxy_pass'],
      ['4', 'http_x', 'proxy_pass'],
      ['5', 'cookie_a', 'proxy_pass'],
      ['6', '1', 'proxy_pass'],
      ['7', 'host', 'proxy_pass'],
      ['8', 'args', 'fastcgi_pass'],
    ],
  )
})

test('a script of a module that is not here is one problem, whatever is in it', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': `server { listen 80; location / { content_by_lua_block {
      ngx.say("} { it's") -- a } comment
      local t = { a = { 1 }, b = '}' } } }
      location /b { return 200; } }`,
  })
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(.*/s, '')),
    ['a.conf:1:34: directive "content_by_lua_block" is not available here'],
  )
})

test('directives without effect are one notice, with their places and reasons apart', async (t) => {
  const text =
    'sendfile on;\nserver { listen 80 http2; sendfile off; tcp_nopush on; ssl_protocols TLSv1 TLSv1.2; access_log /dev/stderr; }\n'
  const { lines, notices, ignored } = await readFiles(t, { 'a.conf': text, 'b.conf': 'server { listen 81; sendfile on; }' })
  assert.deepEqual(lines, [])
  assert.deepEqual(
    ignored.map(({ name, reason, places }) => [name, reason, places.length]),
    [
      ['sendfile', 'the server decides how to send files', 3],
      ['tcp_nopush', 'the server sets socket options itself', 1],
    ],
  )
  assert.deepEqual(notices, [
    'a.conf:2:56: versions before TLSv1.2 are not supported',
    'a.conf:2:56: TLSv1.3 is always enabled with TLSv1.2',
    'a.conf:2:85: access lines go to standard output',
    'a.conf:2:10: "http2" of "listen" has no effect here: HTTP/2 is spoken over TLS',
    '2 directives of nginx have no effect in vhost files: sendfile, tcp_nopush ("svc config check --verbose" gives places and reasons)',
  ])
})

test('a refused directive is accepted with a value that asks for no more than there is', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': 'server { listen 80; ssi off; etag on; mirror off; location / { ssi on; mirror /x; proxy_bind 127.0.0.1; } }',
  })
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(.*/, '')),
    ['ssi', 'mirror', 'proxy_bind'].map((name, at) => `a.conf:1:${[64, 72, 83][at]}: directive "${name}" is not available here`),
  )
})

test('heads that nginx takes must be allowed by the configuration', async (t) => {
  const text = `large_client_header_buffers 8 64k; server { listen 80; } server { listen 81; }
    server { listen 82; large_client_header_buffers 4 8k; } server { listen 83; large_client_header_buffers 4 1m; }`
  const { lines } = await readFiles(t, { 'a.conf': text })
  assert.deepEqual(lines, [
    'a.conf:1:1: heads of requests may have 524288 bytes with nginx, and 32768 here (set server.max_header_bytes = 524288 in the config file, or remove it there)',
    'a.conf:2:81: heads of requests may have 4194304 bytes with nginx, and 32768 here (set server.max_header_bytes = 1048576 in the config file, or remove it there)',
  ])
})

test('directives of well-known foreign modules are not called typos', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': 'server { listen 80; passenger_enabled on; js_content x; lua_code_cache on; }',
  })
  assert.equal(lines.length, 3)
  for (const line of lines) assert.match(line, /directive "\w+" is not available here \(/)
})

test('a refused directive is one problem, and the variables that it would set are none', async (t) => {
  const text = `perl_set $half "sub { }";
js_set $place place;
server { listen 80;
  userid $user;
  location / { add_header A "$half$place$user"; }
}`
  const { lines } = await readFiles(t, { 'a.conf': text })
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(.*/, '')),
    [
      'a.conf:1:1: directive "perl_set" is not available here',
      'a.conf:2:1: directive "js_set" is not available here',
      'a.conf:4:3: directive "userid" is not available here',
    ],
  )
})

test('a variable is one problem however often it is read, and a name that nginx knows is not called a typo', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': `server { listen 80; server_name a.org; add_header A $tcpinfo_rtt$hots; add_header B $hots;
  location / { return 200 "$tcpinfo_rtt $hots $sent_http_date $slice_range"; } }`,
  })
  assert.deepEqual(lines, [
    'a.conf:1:53: variable "$tcpinfo_rtt" is not available here (read at 1 more place)',
    'a.conf:1:53: unknown "hots" variable (did you mean "$host"?; read at 2 more places)',
    'a.conf:2:27: variable "$sent_http_date" is not available here',
    'a.conf:2:27: variable "$slice_range" is not available here',
  ])
})

test('a directive that nginx has is not taken for another one, and no hint tells to delete what changes answers', async (t) => {
  const names = 'proxy_bind fastcgi_bind add_before_body userid_name charset_map proxy_limit_rate proxy_store'
  const { lines } = await readFiles(t, {
    'a.conf': names
      .split(' ')
      .map((name) => `${name} x;`)
      .join('\n'),
  })
  assert.equal(lines.length, 7)
  for (const line of lines) {
    assert.match(line, /^a\.conf:\d:1: directive "\w+" is not available here/)
    assert.doesNotMatch(line, /did you mean|delete|no answer changes/)
  }
})

test('directives of nginx.conf in a file without http are one problem', async (t) => {
  const conf = 'user www-data;\nworker_processes auto;\npid /run/x;\nevents { worker_connections 768; }\nserver { listen 80; }\n'
  const { lines } = await readFiles(t, { 'a.conf': conf, 'b.conf': 'server { listen 80; frob x; }' })
  assert.deepEqual(lines, [
    'a.conf:1:1: "user" belongs in nginx.conf, outside of http {} (server.vhosts takes a whole nginx.conf, or the files that it includes inside http {})',
    'b.conf:1:21: unknown directive "frob"',
  ])
})

test('a missing file hides no other problem, and settings that it may contain are not reported as missing', async (t) => {
  const { lines } = await readFiles(t, { 'a.conf': 'server { include gone.conf; return 200 $from_it; frob x; }' })
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(.*/, '')),
    ['a.conf:1:10: no such file: gone.conf', 'a.conf:1:50: unknown directive "frob"'],
  )
})
