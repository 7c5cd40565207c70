import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { locationSiteId } from '../src/blocks/site-id.ts'
import { readConf, readFiles } from './read-text.ts'

const certificates = { hasCertificates: false }

test('a site without an application has its files, where all blocks agree', async (t) => {
  const { sites } = await readConf(
    t,
    'server { listen 1; server_name a; root /srv/a; } server { listen 2; server_name a; } server { server_name b; root /srv/$host; } server { listen 3; server_name c; root /1; } server { listen 4; server_name c; root /2; }',
  )
  assert.deepEqual(
    sites.map(({ id, app, files }) => [id, app, files]),
    [
      ['a', undefined, '/srv/a'],
      ['b', undefined, ''],
      ['c', undefined, ''],
    ],
  )
})

test('server blocks of one site must not contradict each other', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': `server { listen 1; server_name a; svc_app x; svc_tenant t; svc_label l; svc_process own; }
server { listen 2; server_name a; svc_app y; svc_tenant u; svc_label m; svc_process in-process; }`,
  })
  const hint = '(it is the same site as at a.conf:1:1; use svc_site to separate them)'
  assert.deepEqual(lines, [
    `a.conf:2:1: "svc_app" differs between the server blocks of "a" ${hint}`,
    `a.conf:2:1: "svc_label" differs between the server blocks of "a" ${hint}`,
    `a.conf:2:1: "svc_process" differs between the server blocks of "a" ${hint}`,
    `a.conf:2:1: "svc_tenant" differs between the server blocks of "a" ${hint}`,
  ])
})

test('two names that lead to one id are a problem that names both', async (t) => {
  const { lines, web } = await readFiles(t, {
    'a.conf': `server { listen 1; server_name *.a.org; svc_app x; }
server { listen 2; server_name wildcard.a.org; svc_app y; }
server { listen 3; }
server { listen 4; server_name default; }
server { listen 5; server_name _; }
server { listen 6; server_name wildcard.b.org; svc_site w; }
server { listen 7; server_name *.b.org; }
server { listen 8; server_name *.c.org; svc_site default; }
server { listen 9; server_name d\u00e9.org; }
server { listen 10; server_name xn--d-bga.org; }`,
  })
  const hint = '(write svc_site <id>; in one of the two servers)'
  assert.deepEqual(lines, [
    `a.conf:2:32: server name "wildcard.a.org" results in the same site id "wildcard.a.org" as "*.a.org" at a.conf:1:32 ${hint}`,
    `a.conf:4:32: server name "default" results in the same site id "default" as "_" at a.conf:3:1 ${hint}`,
    `a.conf:10:33: server name "xn--d-bga.org" results in the same site id "xn--d-bga.org" as "d\u00e9.org" at a.conf:9:32 ${hint}`,
  ])
  assert.equal(web.servers[6]?.site, 'wildcard.b.org')
})

test('the id and label of a site are made of its first name, the same at every load', async (t) => {
  const long = `${'a'.repeat(60)}.org`
  const cases: [written: string, id: string | RegExp][] = [
    ['_', 'default'],
    ['""', 'default'],
    ['Shop.Example.ORG.', 'shop.example.org'],
    ['.b.org', 'b.org'],
    ['10.0.0.1', '10.0.0.1'],
    ['a_b.org', 'a_b.org'],
    ['*.Example.org', 'wildcard.example.org'],
    ['sonarr.*', 'sonarr.any'],
    ['~^www\\d+\\.net$', /^pattern-[0-9a-f]{8}$/],
    ['"~^[0-9]{1,10}\\.code\\..*$"', /^pattern-[0-9a-f]{8}$/],
    ['_dmarc.c.org', /^dmarc\.c\.org-[0-9a-f]{6}$/],
    ['-', /^name-[0-9a-f]{6}$/],
    ['localhost:80', /^localhost-80-[0-9a-f]{6}$/],
    ['www.$hostname', /^www\.-hostname-[0-9a-f]{6}$/],
    ['B\u00fccher.org', 'xn--bcher-kva.org'],
    ['*.\u00e9.org', 'wildcard.xn--9ca.org'],
    ['\u00c9.net', 'xn--9ca.net'],
    [long, /^a{56}-[0-9a-f]{6}$/],
    [`*.${long}`, /^wildcard\.a{47}-[0-9a-f]{6}$/],
  ]
  const conf = cases.map(([written], index) => `server { listen ${index + 1}; server_name ${written} second.org; }`).join('\n')
  const { web, sites } = await readConf(t, conf)
  for (const [index, [written, expected]] of cases.entries()) {
    const id = web.servers[index]?.site ?? ''
    assert.match(id, /^[a-z0-9][a-z0-9._-]{0,62}$/, written)
    if (typeof expected === 'string') assert.equal(id, expected, written)
    else assert.match(id, expected, written)
  }
  assert.deepEqual(
    sites.map(({ id, label }) => [id, label]),
    [...new Set(web.servers.map(({ site }) => site))].map((id) => [id, id]),
  )
  const inAnotherOrder = await readConf(t, conf.split('\n').toReversed().join('\n'))
  assert.deepEqual(
    inAnotherOrder.web.servers.map(({ site }) => site),
    web.servers.map(({ site }) => site).toReversed(),
  )
})

test('servers of any name and blocks with one wildcard are one site each; svc_site goes before all names', async (t) => {
  const { sites, web } = await readConf(
    t,
    'server { listen 1; server_name _; } server { listen 2; } server { listen 3; server_name ""; } server { listen 4; server_name *.a.org; svc_site wild; } server { listen 5; server_name ~^x; svc_site regex; } server { listen 6; server_name *.b.org; } server { listen 7; server_name *.B.org b.org; }',
  )
  assert.deepEqual(
    web.servers.map(({ site, name }) => [site, name]),
    [
      ['default', '_'],
      ['default', ''],
      ['default', ''],
      ['wild', '*.a.org'],
      ['regex', '~^x'],
      ['wildcard.b.org', '*.b.org'],
      ['wildcard.b.org', '*.b.org'],
    ],
  )
  assert.deepEqual(
    sites.map(({ id, hostnames }) => [id, hostnames]),
    [
      ['default', []],
      ['wild', ['*.a.org']],
      ['regex', []],
      ['wildcard.b.org', ['*.b.org', 'b.org']],
    ],
  )
})

test('$hostname is the name of the machine', async (t) => {
  const { web } = await readConf(t, 'server { server_name a.org $hostname; }')
  assert.deepEqual(web.servers[0]?.names, [
    { kind: 'name', name: 'a.org' },
    { kind: 'name', name: hostname().toLowerCase() },
  ])
})

test('an application of a location is a site of its own', async (t) => {
  const { web, sites, dir } = await readConf(
    t,
    'server { server_name a.org; svc_app main; location /admin/ { svc_app admin; } location = /admin { svc_app other; } location /img/ { root /srv; } location /api { proxy_pass http://10.0.0.1; } location / { add_header A b; } location @named { } }',
  )
  const [server] = web.servers
  const other = locationSiteId('a.org', { kind: 'exact', path: '/admin' }, new Set(['a.org--admin']))
  assert.match(other, /^a\.org--admin-[0-9a-f]{6}$/)
  assert.deepEqual(
    server?.locations.map(({ content }) => (content.kind === 'app' ? content.site : content.kind)),
    ['a.org--admin', other, 'files', 'proxy', 'a.org', 'a.org'],
  )
  assert.deepEqual(
    sites.map(({ id, label, app, hostnames }) => [id, label, app, hostnames]),
    [
      ['a.org', 'a.org', `${dir}/main`, ['a.org']],
      ['a.org--admin', 'a.org--admin', `${dir}/admin`, ['a.org']],
      [other, other, `${dir}/other`, ['a.org']],
    ],
  )
})

test('ids of locations are legal, for any pattern', () => {
  const none = new Set<string>()
  const id = (path: string, site = 'a.org') => locationSiteId(site, { kind: 'prefix', path, isFirst: false }, none)
  assert.equal(id('/'), 'a.org--root')
  assert.equal(id('/a/B c/'), 'a.org--a-b-c')
  assert.equal(locationSiteId('a', { kind: 'named', name: 'app' }, none), 'a--app')
  for (const path of ['/\u00e9', '/..', `/${'x'.repeat(200)}`, '/-_-']) {
    assert.match(id(path, 'b'.repeat(63)), /^[a-z0-9][a-z0-9._-]{0,62}$/)
    assert.match(id(path), /^[a-z0-9][a-z0-9._-]{0,62}$/)
  }
  assert.notEqual(id(`/${'x'.repeat(200)}`), id(`/${'x'.repeat(201)}`))
})

test('of two servers of one address with one name the first has it, and a notice names both places', async (t) => {
  const { lines, notices } = await readFiles(
    t,
    {
      'a.conf': 'server { listen 80; listen 81; server_name a.org .b.org; }\nserver { listen 82; server_name a.org; }',
      'b.conf':
        'server { listen 81; server_name c.org A.org *.b.org; svc_site x; }\nserver { listen 83; server_name site.org; svc_site y; }',
    },
    { hosts: [{ name: 'site.org', place: { file: 'svc.config.toml', line: 3, column: 4 } }] },
  )
  assert.deepEqual(notices, [
    'b.conf:1:39: conflicting server name "a.org" on 0.0.0.0:81, ignored: a.conf:1:44 has it',
    'b.conf:1:45: conflicting server name "*.b.org" on 0.0.0.0:81, ignored: a.conf:1:50 has it',
  ])
  assert.deepEqual(lines, ['b.conf:2:33: host name "site.org" is already taken at svc.config.toml:3:4'])
})

test('one address speaks TLS or does not, for all servers that share it', async (t) => {
  const conf = 'server { listen 443 ssl; server_name a; } server { listen 0.0.0.0:443; server_name b; }'
  const { web, notices } = await readConf(t, conf)
  assert.deepEqual(
    web.servers.map(({ listen }) => listen[0]?.isTls),
    [true, false],
  )
  assert.deepEqual(notices, ['a.conf:1:52: 0.0.0.0:443 speaks TLS, as a.conf:1:10 says'])
})

test('TLS needs a certificate and a version that the engine speaks', async (t) => {
  const conf = 'server { listen 1 ssl; server_name a; ssl_protocols TLSv1.3; }'
  const { lines } = await readFiles(t, { 'a.conf': conf }, certificates)
  assert.deepEqual(lines, [
    'a.conf:1:10: "ssl_protocols" without TLSv1.2 is not available on engine "uws", which serves 0.0.0.0:1 (set svc_engine node)',
    'a.conf:1:17: no "ssl_certificate" is defined for the "listen ... ssl" directive (set ssl_certificate and ssl_certificate_key, [[tls.certs]] of the config file, or tls.auto)',
  ])
  assert.deepEqual((await readFiles(t, { 'a.conf': conf }, { engineTls: 'node' })).lines, [])
  for (const chosen of ['svc_engine node;', 'http2 on;']) {
    assert.deepEqual((await readFiles(t, { 'a.conf': conf.replace('ssl_protocols', `${chosen} ssl_protocols`) })).lines, [])
  }
  const { web } = await readConf(
    t,
    `ssl_certificate c.pem; ssl_certificate_key /k.pem; ssl_protocols TLSv1.2; ssl_protocols TLSv1.3; ${conf.replace('ssl_protocols TLSv1.3;', '')}`,
    certificates,
  )
  assert.match(web.servers[0]?.certificates[0]?.cert ?? '', /^\/.*\/c\.pem$/)
  assert.equal(web.servers[0]?.certificates[0]?.key, '/k.pem')
  assert.equal(web.servers[0]?.minTlsVersion, '1.2')
})
