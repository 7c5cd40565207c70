import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import type { LocationSettings, LocationSpec, ServerSpec, WebSpec } from '../src/spec/spec.ts'
import { type ReadText, readConf } from './read-text.ts'

function server(web: WebSpec, index = 0): ServerSpec {
  const found = web.servers[index]
  assert.ok(found !== undefined)
  return found
}

function location({ web }: ReadText, index = 0): LocationSpec {
  const found = server(web).locations[index]
  assert.ok(found !== undefined)
  return found
}

const v = (variable: string) => ({ variable })

test('a location has what the levels around it say, and lists only where it has none of its own', async (t) => {
  const read = await readConf(
    t,
    `add_header X-Main 1; client_max_body_size 1m; index main.html; error_page 404 /main; deny 10.0.0.1;
    proxy_set_header A main; fastcgi_param P main; auth_basic Main; auth_basic_user_file /etc/users;
    gzip_types text/CSS; gzip_min_length 1000; gzip_proxied no-cache auth; gzip_disable msie6 degradation; gzip_vary on;
    server { root /srv/; gzip on; expires 1h; access_log off;
      location /own { add_header X-Own 2 always; client_max_body_size 0; index own.html; error_page 500 =200 /own; allow all;
        auth_basic off; gzip off; expires off; access_log /x; root /own/; internal; }
      location /inherited { } }`,
  )
  const own = location(read, 0)
  const inherited = location(read, 1)
  assert.deepEqual(own.addHeaders, [{ name: 'X-Own', value: ['2'], isAlways: true }])
  assert.deepEqual(inherited.addHeaders, [{ name: 'X-Main', value: ['1'], isAlways: false }])
  assert.deepEqual([own.maxBodyBytes, inherited.maxBodyBytes], [0, 1_048_576])
  assert.deepEqual(own.files, { kind: 'root', prefix: '', dir: ['/own'], index: [['own.html']] })
  assert.deepEqual(inherited.files, { kind: 'root', prefix: '', dir: ['/srv'], index: [['main.html']] })
  assert.deepEqual(own.errorPages, [{ statuses: [500], answer: 200, target: { kind: 'uri', uri: ['/own'] } }])
  assert.deepEqual(inherited.errorPages, [{ statuses: [404], answer: undefined, target: { kind: 'uri', uri: ['/main'] } }])
  assert.deepEqual(
    [own.access, inherited.access],
    [[{ isAllowed: true, source: 'all' }], [{ isAllowed: false, source: '10.0.0.1' }]],
  )
  assert.equal(own.authBasic, undefined)
  assert.deepEqual(inherited.authBasic, { realm: ['Main'], userFile: ['/etc/users'] })
  assert.equal(own.compression, 'off')
  assert.deepEqual(inherited.compression, {
    types: ['text/css'],
    minBytes: 1000,
    proxied: ['no-cache', 'auth'],
    httpVersion: '1.1',
    disabled: ['msie6'],
    hasVary: true,
  })
  assert.deepEqual([own.expires, inherited.expires], [{ kind: 'off' }, { kind: 'after', seconds: 3600, isFromModified: false }])
  assert.deepEqual([own.accessLogs, inherited.accessLogs], [[{ path: '/x', format: undefined, condition: undefined }], []])
  assert.deepEqual([own.isInternal, inherited.isInternal], [true, false])
})

test('rewriting and try_files belong to their level alone', async (t) => {
  const { web } = await readConf(
    t,
    'server { rewrite ^/a /b; return 404; try_files $uri =403; location / { rewrite ^/c /d last; } }',
  )
  const { rewrites, fallback, locations } = server(web)
  assert.equal(rewrites.length, 2)
  assert.deepEqual(fallback.rewrites, [])
  assert.deepEqual(fallback.tryFiles?.last, { kind: 'status', status: 403 })
  assert.equal(locations[0]?.tryFiles, undefined)
  assert.equal(locations[0]?.rewrites.length, 1)
})

test('rewrite knows its flags, redirects and what it does to arguments', async (t) => {
  const { web } = await readConf(
    t,
    `server { rewrite ^/a$ /b; rewrite ^/a$ /b? last; rewrite ^/(.)$ /$1?x=1 break; rewrite ^ https://h/$uri? redirect;
     rewrite ^ http://h/ permanent; rewrite ^ $scheme://h/ last; rewrite ^/a$ /c redirect; }`,
  )
  const steps = server(web).rewrites.map((step) =>
    step.kind === 'rewrite' ? [step.then, step.keepsArgs, step.replacement] : step,
  )
  assert.deepEqual(steps, [
    ['next', true, ['/b']],
    ['last', false, ['/b']],
    ['break', true, ['/', v('1'), '?x=1']],
    ['redirect', false, ['https://h/', v('uri')]],
    ['permanent', true, ['http://h/']],
    ['redirect', true, [v('scheme'), '://h/']],
    ['redirect', true, ['/c']],
  ])
})

test('return has a status, a text or a target', async (t) => {
  const { web } = await readConf(
    t,
    'server { return 404; return 200 "a\\tb"; return 301 /x$is_args$args; return https://h/; return 0; }',
  )
  assert.deepEqual(server(web).rewrites, [
    { kind: 'return', status: 404, text: undefined },
    { kind: 'return', status: 200, text: ['a\tb'] },
    { kind: 'return', status: 301, text: ['/x', v('is_args'), v('args')] },
    { kind: 'return', status: 302, text: ['https://h/'] },
    { kind: 'return', status: 0, text: undefined },
  ])
})

test('locations are of five kinds', async (t) => {
  const { web } = await readConf(
    t,
    'server { location /p { } location ^~ /q { } location = /e { } location ~ \\.a$ { } location ~* \\.b$ { } location @n { } location =/g { } location "/s p\u00e9" { } }',
  )
  const matches = server(web).locations.map(({ match }) => (match.kind === 'pattern' ? match.pattern.source : match))
  assert.deepEqual(matches, [
    { kind: 'prefix', path: '/p', isFirst: false },
    { kind: 'prefix', path: '/q', isFirst: true },
    { kind: 'exact', path: '/e' },
    '\\.a\\x0a?$',
    '\\.[Bb]\\x0a?$',
    { kind: 'named', name: 'n' },
    { kind: 'exact', path: '/g' },
    { kind: 'prefix', path: '/s p\u00c3\u00a9', isFirst: false },
  ])
})

test('files come from a root or an alias; relative ones lie beside the vhost file', async (t) => {
  const read = await readConf(
    t,
    'server { root www; location /a { alias img/; index a.html $host.html; } location /b { root /; } location /c { root $host/x/; } }',
  )
  assert.deepEqual(server(read.web).fallback.files, {
    kind: 'root',
    prefix: '',
    dir: [`${read.dir}/www`],
    index: [['index.html']],
  })
  assert.deepEqual(location(read, 0).files, {
    kind: 'alias',
    prefix: '/a',
    dir: [`${read.dir}/img/`],
    index: [['a.html'], [v('host'), '.html']],
  })
  assert.deepEqual(location(read, 1).files?.dir, ['/'])
  assert.deepEqual(location(read, 2).files?.dir, [v('host'), '/x'])
})

test('a relative path that leads upwards is resolved, since PHP accepts no dots', async (t) => {
  const read = await readConf(
    t,
    'server { root ../www; location /a { alias ./../img/; } location /b { root ..; } location /c { root ../..$host; } location /d { root ..x/../y; } location /e { alias ..; } location /f { alias ../; } }',
  )
  const above = dirname(read.dir)
  assert.deepEqual(server(read.web).fallback.files?.dir, [`${above}/www`])
  const dirs = [[`${above}/img/`], [above], [`${above}/..`, v('host')], [`${read.dir}/..x/../y`], [`${above}/`], [`${above}/`]]
  assert.deepEqual(
    dirs.map((_, at) => location(read, at).files?.dir),
    dirs,
  )
})

test('without a root nothing is served from disk', async (t) => {
  const { web } = await readConf(t, 'server { location / { } }')
  assert.equal(server(web).locations[0]?.files, undefined)
  assert.deepEqual(server(web).locations[0]?.content, { kind: 'files' })
})

test('try_files has candidates and an end', async (t) => {
  const read = await readConf(
    t,
    'server { location @f { } location /a { try_files $uri $uri/ / @f; } location /b { try_files /x$args /y?z; } location /c { try_files a =0; } }',
  )
  assert.deepEqual(location(read, 1).tryFiles, {
    candidates: [
      { path: [v('uri')], isDirectory: false },
      { path: [v('uri')], isDirectory: true },
      { path: ['/'], isDirectory: true },
    ],
    last: { kind: 'named', name: 'f' },
  })
  assert.deepEqual(location(read, 2).tryFiles?.last, { kind: 'uri', uri: ['/y?z'] })
  assert.deepEqual(location(read, 3).tryFiles?.last, { kind: 'status', status: 0 })
})

test('error pages lead to a path, a named location or a URL', async (t) => {
  const { web } = await readConf(
    t,
    'server { location @f { } error_page 404 403 =200 /x; error_page 500 = @f; error_page 502 =301 https://h/; error_page 503 $scheme://h; error_page 504 /$uri; error_page 505 x; }',
  )
  assert.deepEqual(server(web).fallback.errorPages, [
    { statuses: [404, 403], answer: 200, target: { kind: 'uri', uri: ['/x'] } },
    { statuses: [500], answer: 'own', target: { kind: 'named', name: 'f' } },
    { statuses: [502], answer: 301, target: { kind: 'redirect', url: ['https://h/'] } },
    { statuses: [503], answer: undefined, target: { kind: 'redirect', url: [v('scheme'), '://h'] } },
    { statuses: [504], answer: undefined, target: { kind: 'uri', uri: ['/', v('uri')] } },
    { statuses: [505], answer: undefined, target: { kind: 'redirect', url: ['x'] } },
  ])
})

test('expires is a moment, a time after now or after the change, or a time of day', async (t) => {
  const texts = ['epoch', 'max', 'off', '30d', '-1', '+1h', '0', 'modified 1w', 'modified -5m', '@15h30m']
  const { web } = await readConf(
    t,
    `server { ${texts.map((text, index) => `location /${index} { expires ${text}; }`).join(' ')} }`,
  )
  const after = (seconds: number, isFromModified = false) => ({ kind: 'after', seconds, isFromModified })
  assert.deepEqual(
    server(web).locations.map(({ expires }) => expires),
    [
      { kind: 'epoch' },
      { kind: 'max' },
      { kind: 'off' },
      after(2_592_000),
      after(-1),
      after(3600),
      after(0),
      after(604_800, true),
      after(-300, true),
      { kind: 'daily', seconds: 55_800 },
    ],
  )
})

test('texts are templates: quotes, escapes and braces as in nginx', async (t) => {
  const { web } = await readConf(
    t,
    `server { location /a { add_header A "x\${host}y$1z$10 \\"q\\" 'p'"; add_header B 'a"b\\'c'; add_header C a\\;b\\ c\\.d; add_header D "\u00e9"; add_header E ""; } }`,
  )
  assert.deepEqual(
    server(web).locations[0]?.addHeaders.map(({ value }) => value),
    [['x', v('host'), 'y', v('1'), 'z', v('1'), `0 "q" 'p'`], [`a"b'c`], ['a\\;b\\ c\\.d'], ['\u00c3\u00a9'], []],
  )
})

test('maps keep their texts in lower case and their patterns in order', async (t) => {
  const { web } = await readConf(
    t,
    'map "$host:$uri" $m { hostnames; default $args; WWW.a.org 1; *.b.org 2; "" 3; ~^x(?<n>.) $n; ~*Y 4; \\default 5; \\~z 6; } server { return 200 $m$n; }',
  )
  assert.deepEqual(web.maps, [
    {
      variable: 'm',
      source: [v('host'), ':', v('uri')],
      texts: [
        { text: 'www.a.org', value: ['1'] },
        { text: '*.b.org', value: ['2'] },
        { text: '', value: ['3'] },
        { text: 'default', value: ['5'] },
        { text: '~z', value: ['6'] },
      ],
      patterns: [
        { pattern: { source: '^x(?<n>[^\\x0a])', flags: '', names: ['n'] }, value: [v('n')] },
        { pattern: { source: '[Yy]', flags: '', names: [] }, value: ['4'] },
      ],
      fallback: [v('args')],
      areHostnames: true,
      isVolatile: false,
    },
  ])
})

test('ssl makes every address of its server speak TLS', async (t) => {
  const certificate = 'ssl_certificate /a.crt; ssl_certificate_key /a.key;'
  const { web } = await readConf(
    t,
    `server { listen 127.0.0.1:81; listen 127.0.0.1:82 ssl; ssl on; ${certificate} } server { listen 127.0.0.1:83; ssl off; }`,
  )
  assert.deepEqual(
    web.servers.flatMap(({ listen }) => listen.map(({ isTls }) => isTls)),
    [true, true, false],
  )
})

test('types are tables of their blocks; a level with a block inherits none', async (t) => {
  const { web } = await readConf(
    t,
    `types { text/a A b; } server { default_type x/y; location /a { types { } types { text/c c; } } location /b { } }
     server { types { text/b b; } }`,
  )
  const of = ({ types, defaultType }: LocationSettings) => [types, defaultType]
  assert.deepEqual(server(web).locations.map(of), [
    [[1, 2], 'x/y'],
    [[0], 'x/y'],
  ])
  assert.deepEqual(of(server(web, 1).fallback), [[3], 'text/plain'])
  const a = [
    ['a', 'text/a'],
    ['b', 'text/a'],
  ]
  assert.deepEqual(web.typeTables, [a, [], [['c', 'text/c']], [['b', 'text/b']]])
})

test('a whole nginx.conf without types has those of nginx, another file none', async (t) => {
  const of = ({ web }: ReadText) => [server(web).fallback.types, server(web).fallback.defaultType, web.typeTables.length]
  assert.deepEqual(of(await readConf(t, 'events { } http { server { listen 80; } }')), [[0], 'text/plain', 1])
  assert.deepEqual(of(await readConf(t, 'server { default_type x/y; }')), [undefined, 'x/y', 0])
  assert.deepEqual(of(await readConf(t, 'server { }')), [undefined, undefined, 0])
})
