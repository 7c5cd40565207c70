import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContentSpec } from '../src/spec/spec.ts'
import { readConf } from './read-text.ts'

type Kind<Name extends ContentSpec['kind']> = Extract<ContentSpec, { kind: Name }>

async function contents<Name extends ContentSpec['kind']>(
  t: Parameters<typeof readConf>[0],
  kind: Name,
  directives: readonly string[],
  before = '',
): Promise<{ readonly found: readonly Kind<Name>[]; readonly names: readonly string[] }> {
  const text = `${before} server { ${directives.map((line, index) => `location /${index}/ { ${line} }`).join('\n')} }`
  const { web } = await readConf(t, text)
  const found = web.servers[0]?.locations.map(({ content }) => {
    assert.equal(content.kind, kind)
    return content as Kind<Name>
  })
  return { found: found ?? [], names: web.upstreams.map(({ name }) => name) }
}

const v = (variable: string) => ({ variable })

test('proxy_pass names a group, an address or what is computed, with and without a URI part', async (t) => {
  const lines = [
    'proxy_pass http://Back.test;',
    'proxy_pass https://10.0.0.1/;',
    'proxy_pass http://[::1]:81/a/b?c;',
    'proxy_pass http://unix:/run/a.sock;',
    'proxy_pass http://unix:/run/a.sock:/x/;',
    'proxy_pass http://group/y;',
    'proxy_pass http://$host:81/z$is_args$args;',
    'proxy_pass http://$host$request_uri;',
    'proxy_pass http://10.0.0.1$uri;',
  ]
  const { found, names } = await contents(t, 'proxy', lines, 'upstream group { server 10.0.0.2:80; }')
  assert.deepEqual(
    found.map(({ scheme, target, uri }) => [scheme, target.kind === 'fixed' ? [target.upstream, target.host] : target.host, uri]),
    [
      ['http', ['back.test:80', 'Back.test'], undefined],
      ['https', ['10.0.0.1:443', '10.0.0.1'], ['/']],
      ['http', ['[::1]:81', '[::1]:81'], ['/a/b?c']],
      ['http', ['unix:/run/a.sock', 'unix:/run/a.sock'], undefined],
      ['http', ['unix:/run/a.sock', 'unix:/run/a.sock'], ['/x/']],
      ['http', ['group', 'group'], ['/y']],
      ['http', [v('host'), ':81'], ['/z', v('is_args'), v('args')]],
      ['http', [v('host')], [v('request_uri')]],
      ['http', ['10.0.0.1:80', '10.0.0.1'], [v('uri')]],
    ],
  )
  assert.deepEqual(names, ['group', 'back.test:80', '10.0.0.1:443', '[::1]:81', 'unix:/run/a.sock', '10.0.0.1:80'])
})

test('unset directives of a proxy have their defaults', async (t) => {
  const { found } = await contents(t, 'proxy', ['proxy_pass http://10.0.0.1;'])
  assert.deepEqual(found[0], {
    kind: 'proxy',
    scheme: 'http',
    target: { kind: 'fixed', upstream: '10.0.0.1:80', host: '10.0.0.1' },
    uri: undefined,
    connectMs: 60_000,
    readMs: 60_000,
    sendMs: 60_000,
    setHeaders: [],
    httpVersion: '1.1',
    isBuffered: true,
    tls: { sendsName: false, isVerified: false },
    maxTries: 0,
    triesMs: 0,
    resolver: undefined,
    passesFields: true,
    passesBody: true,
    nextUpstream: ['error', 'timeout'],
    redirects: 'default',
    hideHeaders: [],
    ignoredFields: [],
    passHeaders: [],
    interceptsErrors: false,
    cache: undefined,
  })
})

test('directives of proxies are inherited, lists as a whole', async (t) => {
  const { found } = await contents(
    t,
    'proxy',
    [
      'proxy_pass http://10.0.0.1;',
      'proxy_pass http://10.0.0.1; proxy_set_header B 2; proxy_hide_header X-B; proxy_read_timeout 5; proxy_buffering on; proxy_next_upstream off; proxy_http_version 1.1; proxy_cache off;',
    ],
    `proxy_set_header A $host; proxy_hide_header X-A; proxy_read_timeout 500ms; proxy_connect_timeout 1m; proxy_send_timeout 2h;
     proxy_buffering off; proxy_next_upstream http_502; proxy_next_upstream error; proxy_http_version 1.0;
     proxy_cache zone; proxy_cache_valid 200 404 10m; proxy_cache_valid any 1m; proxy_cache_valid 30s;
     proxy_cache_use_stale error updating; proxy_cache_bypass $http_a $arg_b; proxy_no_cache $cookie_c;`,
  )
  const [inherited, own] = found
  assert.deepEqual(inherited?.setHeaders, [{ name: 'A', value: [v('host')] }])
  assert.deepEqual(own?.setHeaders, [{ name: 'B', value: ['2'] }])
  assert.deepEqual([inherited?.hideHeaders, own?.hideHeaders], [['x-a'], ['x-b']])
  assert.deepEqual([inherited?.readMs, own?.readMs, own?.connectMs, own?.sendMs], [500, 5000, 60_000, 7_200_000])
  assert.deepEqual([inherited?.isBuffered, own?.isBuffered], [false, true])
  assert.deepEqual([inherited?.nextUpstream, own?.nextUpstream], [['http_502', 'error'], []])
  assert.deepEqual([inherited?.httpVersion, own?.httpVersion], ['1.0', '1.1'])
  assert.equal(own?.cache, undefined)
  assert.deepEqual(inherited?.cache, {
    zone: 'zone',
    valid: [
      { statuses: [200, 404], seconds: 600 },
      { statuses: 'any', seconds: 60 },
      { statuses: [200, 301, 302], seconds: 30 },
    ],
    useStale: ['error', 'updating'],
    bypass: [[v('http_a')], [v('arg_b')]],
    noCache: [[v('cookie_c')]],
    ignoredFields: [],
  })
})

test('proxy_redirect is the default, nothing, or a list', async (t) => {
  const { found } = await contents(t, 'proxy', [
    'proxy_pass http://10.0.0.1; proxy_redirect default;',
    'proxy_pass http://10.0.0.1; proxy_redirect off;',
    'proxy_pass http://10.0.0.1/b/; proxy_redirect default; proxy_redirect http://a/ /$host/; proxy_redirect ~*^HTTP://b/(.*) /$1;',
    'proxy_pass http://10.0.0.1; proxy_redirect default; proxy_redirect / /c;',
    'proxy_pass http://$host;',
  ])
  assert.deepEqual(
    found.map(({ redirects }) => redirects),
    [
      'default',
      [],
      [
        { from: ['http://10.0.0.1/b/'], to: ['/2/'] },
        { from: ['http://a/'], to: ['/', v('host'), '/'] },
        { from: { source: '^[Hh][Tt][Tt][Pp]:\\/\\/[Bb]\\/([^\\x0a]*)', flags: '', names: [] }, to: ['/', v('1')] },
      ],
      [
        { from: ['http://10.0.0.1/'], to: ['/'] },
        { from: ['/'], to: ['/c'] },
      ],
      [],
    ],
  )
})

test('fastcgi_pass has its own parameters or those around it', async (t) => {
  const { found, names } = await contents(
    t,
    'fastcgi',
    [
      'fastcgi_pass unix:/run/php.sock; fastcgi_param HTTPS $https if_not_empty; fastcgi_param S nginx/$nginx_version; fastcgi_index index.php; fastcgi_split_path_info ^(.+\\.php)(/.*)$;',
      'fastcgi_pass 127.0.0.1:9000;',
      'fastcgi_pass $host:9000; fastcgi_read_timeout 5m; fastcgi_hide_header X-P; fastcgi_next_upstream error invalid_header; fastcgi_cache z; fastcgi_cache_valid 1m;',
    ],
    'fastcgi_param MAIN 1; fastcgi_param B $https if_not_empty;',
  )
  const [own, inherited, other] = found
  assert.deepEqual(own?.params, [
    { name: 'HTTPS', value: [v('https')], isIfNotEmpty: true },
    { name: 'S', value: ['nginx/', v('nginx_version')], isIfNotEmpty: false },
  ])
  assert.deepEqual(own?.index, ['index.php'])
  assert.deepEqual(own?.splitPathInfo, { source: '^([^\\x0a]+\\.php)(\\/[^\\x0a]*)\\x0a?$', flags: '', names: [] })
  assert.deepEqual(inherited?.params, [
    { name: 'MAIN', value: ['1'], isIfNotEmpty: false },
    { name: 'B', value: [v('https')], isIfNotEmpty: true },
  ])
  assert.deepEqual(other?.target, { kind: 'computed', host: [v('host'), ':9000'] })
  assert.deepEqual([other?.readMs, other?.hideHeaders, other?.nextUpstream], [300_000, ['x-p'], ['error', 'invalid_header']])
  assert.deepEqual(other?.cache?.valid, [{ statuses: [200, 301, 302], seconds: 60 }])
  assert.deepEqual(names, ['unix:/run/php.sock', '127.0.0.1:9000'])
})

test('groups have servers with their parameters', async (t) => {
  const { web } = await readConf(
    t,
    `upstream a { least_conn; server B.test; server 10.0.0.1:81 weight=3 max_fails=0 fail_timeout=1m down; server unix:/run/x.sock backup; keepalive 7; }
     upstream b { ip_hash; server [::1]:80; } upstream c { server 10.0.0.3; }`,
  )
  const plain = { weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false }
  assert.deepEqual(web.upstreams, [
    {
      name: 'a',
      balance: 'least_conn',
      keepalive: 7,
      servers: [
        { ...plain, address: 'b.test:80', written: 'B.test' },
        { address: '10.0.0.1:81', weight: 3, maxFails: 0, failTimeoutMs: 60_000, isBackup: false, isDown: true },
        { ...plain, address: 'unix:/run/x.sock', isBackup: true },
      ],
    },
    { name: 'b', balance: 'ip_hash', keepalive: undefined, servers: [{ ...plain, address: '[::1]:80' }] },
    {
      name: 'c',
      balance: 'round_robin',
      keepalive: undefined,
      servers: [{ ...plain, address: '10.0.0.3:80', written: '10.0.0.3' }],
    },
  ])
})

test('groups choose by a hash or at random, limit connections, and resolve names', async (t) => {
  const { web, problems } = await readConf(
    t,
    `resolver 127.0.0.1 [::1]:54 valid=10s ipv6=off; resolver_timeout 3s;
     upstream a { zone a 64k; hash $uri consistent; server b.test:81 resolve max_conns=5; server 10.0.0.1:80; keepalive_requests 9; keepalive_time 1m; keepalive_timeout 5s; }
     upstream b { random two least_conn; server 10.0.0.1:80 max_conns=0; } upstream c { hash $arg_k; server 10.0.0.1:80; } upstream d { random; server 10.0.0.1:80; }
     server { listen 80; server_name a.test; resolver ns.test ipv4=off; location / { proxy_pass http://$arg_to; } location /fixed/ { proxy_pass http://a; } }`,
  )
  assert.deepEqual(problems, [])
  const plain = { weight: 1, maxFails: 1, failTimeoutMs: 10_000, isBackup: false, isDown: false }
  const [a, b, c, d] = web.upstreams
  const resolver = { servers: ['127.0.0.1:53', '[::1]:54'], validMs: 10_000, hasIpv4: true, hasIpv6: false, timeoutMs: 3_000 }
  assert.deepEqual(a, {
    name: 'a',
    balance: 'consistent_hash',
    keepalive: undefined,
    hashKey: [v('uri')],
    reuse: { idleMs: 5_000, requests: 9, ageMs: 60_000 },
    hasZone: true,
    resolver,
    servers: [
      { ...plain, address: 'b.test:81', maxConns: 5, isResolved: true },
      { ...plain, address: '10.0.0.1:80' },
    ],
  })
  assert.deepEqual([b?.balance, b?.servers], ['random_two', [{ ...plain, address: '10.0.0.1:80' }]])
  assert.deepEqual([c?.balance, c?.hashKey, d?.balance], ['hash', [v('arg_k')], 'random'])
  const [computed, fixed] = web.servers[0]?.locations.map(({ content }) => 'resolver' in content && content.resolver) ?? []
  assert.deepEqual(computed, { servers: ['ns.test:53'], validMs: undefined, hasIpv4: false, hasIpv6: true, timeoutMs: 3_000 })
  assert.equal(fixed, undefined)
})
