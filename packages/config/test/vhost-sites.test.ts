import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loaded, loadText, problemLines } from './load-text.ts'

const vhosts = '[server]\nvhosts = ["*.conf"]\n'

test('a site is made of server blocks with one first name', async (t) => {
  const conf = `server { listen 80; server_name Shop.org www.shop.org; return 301 https://$host$request_uri; }
    server { listen 81; server_name shop.org *.shop.org .s.org x.*; svc_app site; svc_tenant t; svc_process own; svc_label store; }`
  const { dir, result } = await loadText(t, vhosts, {}, { 'a.conf': conf, 'site/.env': 'A=1\n' })
  const { sites, web } = loaded(result)
  assert.deepEqual(
    web.servers.map(({ site, name, fallback }) => [site, name, fallback.content]),
    [
      ['shop.org', 'shop.org', { kind: 'files' }],
      ['shop.org', 'shop.org', { kind: 'app', site: 'shop.org' }],
    ],
  )
  assert.deepEqual(sites, [
    {
      id: 'shop.org',
      label: 'store',
      hostnames: ['shop.org', 'www.shop.org', '*.shop.org', 's.org', '*.s.org'],
      any_host: false,
      root: `${dir}/site`,
      public: `${dir}/site/public`,
      process: 'own',
      tenant: 't',
      env: { A: '1', NODE_ENV: 'production' },
      fetch_allow: [],
      fetch_allow_local: false,
      mode: 'production',
      maintenance: false,
      cache_weight: 1,
      route_rules: [],
      has_app: true,
    },
  ])
})

test('ids and labels are taken once, by sites of the config file too', async (t) => {
  const toml = `${vhosts}[[sites]]\nid = "a.org"\nlabel = "l"\nhostnames = ["x.org"]\nroot = "site"\n[[apps]]\nname = "b.org"\nhostname = "y.org"\nsource = "site"\n`
  const conf = 'server { server_name a.org; }\nserver { server_name b.org; }\nserver { server_name c.org; svc_label l; }\n'
  const { dir, result } = await loadText(t, toml, {}, { 'a.conf': conf })
  assert.deepEqual(problemLines(dir, result), [
    'a.conf:1:1: site id "a.org" is already taken at svc.config.toml:4:1 (set another id with svc_site)',
    'a.conf:2:1: site id "b.org" is already taken at svc.config.toml:9:1 (set another id with svc_site)',
    'a.conf:3:1: label "l" is already taken at svc.config.toml:4:1 (set another label with svc_label)',
  ])
})

test('problems of the config file and of vhost files are reported together', async (t) => {
  const { dir, result } = await loadText(t, `${vhosts}wrokers = 2\n`, {}, { 'a.conf': 'server { svc_app gone; rot /x; }' })
  assert.deepEqual(problemLines(dir, result), [
    'svc.config.toml:3:1: server.wrokers: unknown key (did you mean "workers"?)',
    'a.conf:1:10: no such directory: gone',
    'a.conf:1:24: unknown directive "rot" (did you mean "root"?)',
  ])
})

test('addresses: the default of server.listen only where nothing else is named', async (t) => {
  const names = async (toml: string, conf?: string, changes = {}) => {
    const files = conf === undefined ? {} : { 'a.conf': conf }
    const { listen } = loaded((await loadText(t, toml, changes, files)).result)
    return listen.map(({ name, isTls }) => (isTls ? `${name} tls` : name))
  }
  assert.deepEqual(await names(''), ['127.0.0.1:8080'])
  assert.deepEqual(await names(vhosts), ['127.0.0.1:8080'])
  assert.deepEqual(await names(vhosts, 'server { listen 81; listen [::]:81; listen unix:/run/a.sock; }'), [
    '0.0.0.0:81',
    '[::]:81',
    'unix:/run/a.sock',
  ])
  assert.deepEqual(await names(`${vhosts}listen = "127.0.0.1:90"\n`, 'server { listen 81; }'), ['127.0.0.1:90', '0.0.0.0:81'])
  assert.deepEqual(await names(vhosts, 'server { listen 81; }', { listen: '127.0.0.1:91' }), ['127.0.0.1:91', '0.0.0.0:81'])
  assert.deepEqual(
    await names(
      `${vhosts}listen = "0.0.0.0:81"
`,
      'server { listen *:81 default_server; }',
    ),
    ['0.0.0.0:81'],
  )
  assert.deepEqual(await names(`${vhosts}listen = "localhost:81"\n`, 'server { listen 127.0.0.1:81; }'), ['127.0.0.1:81'])
  assert.deepEqual(await names(vhosts, 'server { listen [0:0::1]:82; listen LOCALHOST:83; listen 10.0.0.1; }'), [
    '[::1]:82',
    '127.0.0.1:83',
    '10.0.0.1:80',
  ])
  const usual = process.getuid?.() === 0 ? '0.0.0.0:80' : '0.0.0.0:8000'
  assert.deepEqual(await names(vhosts, 'server { }'), [usual])
})

test('vhost files decide how large the head of a request may be, unless the config file does', async (t) => {
  const conf = 'large_client_header_buffers 4 32k; server { listen 80; } server { listen 81; large_client_header_buffers 4 8k; }'
  const heads = async (server: string) => {
    const { dir, result } = await loadText(t, `${vhosts}${server}`, {}, { 'a.conf': conf })
    return result.ok ? result.config.server.max_header_bytes : problemLines(dir, result)
  }
  assert.equal(await heads(''), 131_072)
  assert.equal(await heads('max_header_bytes = 200000\n'), 200_000)
  assert.match(
    String(await heads('max_header_bytes = 16384\n')),
    /heads of requests may have 131072 bytes with nginx, and 16384 here/,
  )
})
