import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig, socketDirectory } from '../src/index.ts'
import { configDir, loadDir, loaded, loadText, problemLines, testHost } from './load-text.ts'

const oneSite = '[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n'

test('a site sees NODE_ENV and the named keys, the strongest source first, and nothing else of the host', async (t) => {
  const toml = `[env]\nSHARED = "shared"\nFROM_OS = "shared"\nOWN = "shared"\n${oneSite}[sites.env]\nOWN = "site"\nNODE_ENV = "test"\n`
  const files = { 'site/.env': 'SHARED=dotenv\nDOTENV="two words"\nDOTENV_OS=dotenv\n' }
  const env = { FROM_OS: 'os', DOTENV_OS: 'os', HOME: '/root', NODE_ENV: 'development' }
  const { dir, result } = await loadText(t, toml, { env }, files)
  const { sites, files: read } = loaded(result)
  assert.deepEqual(sites[0]?.env, {
    SHARED: 'shared',
    FROM_OS: 'os',
    OWN: 'site',
    DOTENV: 'two words',
    DOTENV_OS: 'os',
    NODE_ENV: 'production',
  })
  assert.ok(read.includes(`${dir}/site/.env`))
})

test('a site cannot read the secrets of the server by naming their variables', async (t) => {
  const secret = 'the secret of the server, 32 bytes and more'
  const toml = `[admin]\njwt_secret = "env:TOKEN_KEY"\n${oneSite}`
  const files = { 'site/.env': 'TOKEN_KEY=mine\nSVC_REDIS__URL=mine\n', '.env': 'ONLY_SERVER=1\n' }
  const { result } = await loadText(t, toml, { env: { TOKEN_KEY: secret, SVC_REDIS__URL: 'redis://:pw@h' } }, files)
  assert.deepEqual(loaded(result).sites[0]?.env, { TOKEN_KEY: 'mine', SVC_REDIS__URL: 'mine', NODE_ENV: 'production' })
})

test('a .env that cannot be read is a problem of its site', async (t) => {
  const { dir, result } = await loadText(t, oneSite, {}, { 'site/.env/file': '' })
  assert.deepEqual(problemLines(dir, result), [
    'svc.config.toml:4:1: sites[0].root: cannot read site/.env (is a directory, not a file)',
  ])
})

test('standalone mode serves one directory on any host, in development', async (t) => {
  const dir = configDir(t, { 'site/.env': 'A=1\n' })
  const source = { standalone: { dir: 'site', production: false }, env: { SVC_SERVER__WORKERS: '2' }, cwd: dir, isRoot: true }
  const { config, sites } = loaded(await loadConfig(source, testHost))
  assert.equal(config.server.run_dir, socketDirectory(`${dir}/site/.svc`, process.getuid?.() ?? 0))
  assert.equal(config.server.workers, 2)
  assert.deepEqual(sites, [
    {
      id: 'default',
      label: 'default',
      hostnames: [],
      any_host: true,
      root: `${dir}/site`,
      public: `${dir}/site/public`,
      process: 'in-process',
      env: { A: '1', NODE_ENV: 'development' },
      fetch_allow: [],
      fetch_allow_local: true,
      mode: 'development',
      maintenance: false,
      cache_weight: 1,
      route_rules: [],
    },
  ])
})

test('standalone mode for production is strict', async (t) => {
  const dir = configDir(t, {})
  const standalone = { dir: `${dir}/site`, production: true }
  const [site] = loaded(await loadConfig({ standalone, env: {}, cwd: '/', isRoot: false }, testHost)).sites
  assert.deepEqual([site?.mode, site?.fetch_allow_local, site?.env], ['production', false, { NODE_ENV: 'production' }])
})

test('a missing standalone directory is a problem', async (t) => {
  const dir = configDir(t, {})
  const result = await loadConfig(
    { standalone: { dir: 'nowhere', production: false }, env: {}, cwd: dir, isRoot: false },
    testHost,
  )
  assert.deepEqual(problemLines(dir, result), ['nowhere: no such directory: nowhere'])
})

test('a platform file alone is the config file', async (t) => {
  const dir = configDir(t, {
    'p/platform.toml': '[server]\nworkers = 2\n[[apps]]\nname = "docs"\nhostname = "Docs.org"\nsource = "../site"\n',
  })
  const { config, sites } = loaded(await loadConfig({ platform: 'p/platform.toml', env: {}, cwd: dir, isRoot: false }, testHost))
  assert.equal(config.server.workers, 2)
  assert.deepEqual(
    sites.map(({ id, label, hostnames, root }) => ({ id, label, hostnames, root })),
    [{ id: 'docs', label: 'docs', hostnames: ['docs.org'], root: `${dir}/site` }],
  )
})

test('a platform file beside a config file adds apps, and problems name the right file', async (t) => {
  const dir = configDir(t, {
    'svc.config.toml': oneSite,
    'p/platform.toml':
      '[[apps]]\nname = "b"\nhostname = "a.org"\nsource = "../site"\n[[apps]]\nname = "c"\nhostname = "c.org"\nsource = "x"\n',
    'p/wide.toml': '\n[server]\nworkers = 2\n',
  })
  assert.deepEqual(problemLines(dir, await loadDir(dir, { platform: 'p/platform.toml' })), [
    'p/platform.toml:3:1: apps[0].hostname: host name "a.org" is already taken at svc.config.toml:3:14',
    'p/platform.toml:8:1: apps[1].source: no such directory: p/x',
  ])
  assert.deepEqual(problemLines(dir, await loadDir(dir, { platform: 'p/wide.toml' })), [
    'p/wide.toml:2:1: server: a platform file beside a config file holds [[apps]] only',
  ])
})

test('cache_weight is a number within its bounds, and 1 where a site does not say', async (t) => {
  const second = oneSite.replaceAll('"a', '"b').replace('[[sites]]', '[[sites]]\ncache_weight = 2.5')
  const { result } = await loadText(t, oneSite + second, {}, { 'site/.env': '' })
  assert.deepEqual(
    loaded(result).sites.map((site) => site.cache_weight),
    [1, 2.5],
  )
  for (const wrong of ['0', '-1', '101', '"2"']) {
    const bad = await loadText(t, oneSite.replace('[[sites]]', `[[sites]]\ncache_weight = ${wrong}`), {}, { 'site/.env': '' })
    assert.match(problemLines(bad.dir, bad.result).join('\n'), /cache_weight/, wrong)
  }
})

test('each address that a route rule names directly is an upstream of its own, once, and a named group is none', async (t) => {
  const rule = (upstream: string) => `{ pattern = "/${upstream.length}/**", upstream = "${upstream}" }`
  const common = ['http://10.0.0.1:90/base', 'http://A.test', 'https://user:pass@a.test/x', 'backend']
  const own = ['http://10.0.0.1:90', 'http://unix:/run/a.sock:/x', 'http://[::1]']
  const text = `server.vhosts = ["a.conf"]
route_rules = [${common.map(rule).join(', ')}]
[[sites]]
id = "shop"
hostnames = ["shop.test"]
root = "site"
route_rules = [${own.map(rule).join(', ')}]`
  const conf =
    'upstream backend { server 10.0.0.9:1; }\nserver { listen 127.0.0.1:1; location / { proxy_pass http://10.0.0.1:90; } }'
  const { result } = await loadText(t, text, {}, { 'a.conf': conf })
  const { upstreams } = loaded(result).web
  assert.deepEqual(
    upstreams.map(({ name, servers }) => [name, ...servers.map(({ address }) => address)]),
    [
      ['backend', '10.0.0.9:1'],
      ['10.0.0.1:90', '10.0.0.1:90'],
      ['a.test:80', 'a.test:80'],
      ['a.test:443', 'a.test:443'],
      ['unix:/run/a.sock', 'unix:/run/a.sock'],
      ['[::1]:80', '[::1]:80'],
    ],
  )
})
