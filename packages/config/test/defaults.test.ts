import assert from 'node:assert/strict'
import { test } from 'node:test'
import { socketDirectory } from '../src/index.ts'
import { configDir, loadDir, loaded, loadText } from './load-text.ts'

const defaults = (dir: string) => ({
  server: {
    listen: '127.0.0.1:8080',
    workers: 0,
    engine: 'uws',
    engine_tls: 'node',
    vhosts: [],
    trusted_proxies: [],
    loopback_trust: true,
    max_header_bytes: 16_384,
    max_body_bytes: 10_485_760,
    request_timeout_secs: 30,
    idle_timeout_secs: 60,
    state_dir: `${dir}/.svc/state`,
    run_dir: socketDirectory(`${dir}/.svc`, process.getuid?.() ?? 0),
  },
  cache: {
    dir: `${dir}/.svc/cache`,
    l0: { enabled: true, max_bytes: 67_108_864, max_entry_bytes: 1_048_576 },
    isr: {
      max_entries: 10_000,
      max_bytes: 1_073_741_824,
      default_ttl_ms: 60_000,
      default_swr_ms: 3_600_000,
      l2_enabled: false,
      l2_ttl_ms: 300_000,
    },
    proxy: { enabled: true, max_bytes: 1_073_741_824 },
  },
  render: {
    workers: 0,
    hosts: 1,
    concurrency: 16,
    queue_max: 512,
    timeout_ms: 10_000,
    memory_limit_mb: 128,
    idle_secs: 300,
    max_threads: 16,
    max_isolates: 200,
    host_memory_limit_mb: 2048,
  },
  deploy: { sources: [], max_bytes: 1_073_741_824 },
  redis: { pool_size: 16, key_prefix: 'svc:' },
  scaling: {
    health_path: '/__svc/health',
    graceful_shutdown_timeout_secs: 30,
    session_affinity: 'none',
    session_cookie_name: 'SVC_SID',
  },
  rate_limit: { enabled: false, requests_per_minute: 600, distributed: false, exempt: [] },
  metrics: { enabled: true, path: '/__svc/metrics', include_process: true },
  health: { enabled: true, path: '/__svc/health', include_details: true },
  telemetry: { otlp_protocol: 'grpc', sample_rate: 0.1, service_name: 'svc' },
  logging: { level: 'info', access: true, format: 'json', access_format: 'json' },
  admin: { enabled: false, session_ttl_secs: 3600, users: [] },
  endpoints: { health: true, metrics: true, api: true, obs: true, admin: false },
  env: {},
  plugins: {},
  tls: {
    min_version: '1.2',
    certs: [],
    auto: false,
    acme_directory: 'https://acme-v02.api.letsencrypt.org/directory',
    redirect_http: false,
    hsts_max_age_secs: 0,
  },
  waf: {
    mode: 'block',
    packs: { traversal: 'off', sqli: 'off', xss: 'off', scanner: 'off', protocol: 'off' },
    rules: [],
  },
  obs: { slow_ms: 1000, slos: [], alerts: [] },
  sites: [],
  apps: [],
  route_rules: [],
  tasks: [],
})

test('an empty file gives the documented defaults', async (t) => {
  const { dir, result } = await loadText(t, '')
  const { config, sites, notices, files } = loaded(result)
  const { scaling, ...others } = config
  const { instance_id: instanceId, ...restOfScaling } = scaling
  assert.match(instanceId, /^web\.example_1-[0-9a-f]{8}$/)
  assert.deepEqual({ ...others, scaling: restOfScaling }, defaults(dir))
  assert.deepEqual(sites, [])
  assert.deepEqual(notices, [])
  assert.deepEqual(files, [`${dir}/svc.config.toml`])
})

test('a site gets the documented defaults, paths absolute and host names in lower case', async (t) => {
  const { dir, result } = await loadText(
    t,
    '[[sites]]\nid = "shop"\nhostnames = ["Shop.ORG.", "*.Bücher.example"]\nroot = "site"\n',
  )
  assert.deepEqual(loaded(result).sites, [
    {
      id: 'shop',
      label: 'shop',
      hostnames: ['shop.org', '*.xn--bcher-kva.example'],
      any_host: false,
      root: `${dir}/site`,
      public: `${dir}/site/public`,
      process: 'in-process',
      env: { NODE_ENV: 'production' },
      fetch_allow: [],
      fetch_allow_local: false,
      mode: 'production',
      maintenance: false,
      cache_weight: 1,
      route_rules: [],
    },
  ])
})

test('the action of a route rule follows from its keys', async (t) => {
  const rules = ['redirect = "/x"', 'rewrite = "/x"', 'upstream = "http://x"', 'headers = { a = "1" }', 'action = "block"']
  const { result } = await loadText(t, rules.map((keys) => `[[route_rules]]\npattern = "/"\n${keys}\n`).join(''))
  assert.deepEqual(
    loaded(result).config.route_rules.map(({ action, redirect_status: status }) => [action, status]),
    [
      ['redirect', 308],
      ['rewrite', 308],
      ['proxy', 308],
      ['headers', 308],
      ['block', 308],
    ],
  )
})

test('the result is frozen at every level and survives structured clone and JSON unchanged', async (t) => {
  const { result } = await loadText(t, '[env]\nA = "1"\n[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n')
  const { config, sites } = loaded(result)
  assert.throws(() => Object.assign(config.server, { listen: 'x' }), TypeError)
  assert.throws(() => Object.assign(config.sites[0]?.hostnames ?? [], { 0: 'x' }), TypeError)
  assert.throws(() => Object.assign(sites[0]?.env ?? {}, { B: 'x' }), TypeError)
  assert.deepEqual(structuredClone({ config, sites }), { config, sites })
  assert.deepEqual(JSON.parse(JSON.stringify({ config, sites })), { config, sites })
})

test('directories are those of the system for root, unless configured', async (t) => {
  const dir = configDir(t, { 'svc.config.toml': '[server]\nrun_dir = "run"\n' })
  const { config } = loaded(await loadDir(dir, { isRoot: true }))
  assert.equal(config.server.run_dir, `${dir}/run`)
  assert.equal(config.server.state_dir, '/var/lib/svc')
  assert.equal(config.cache.dir, '/var/cache/svc')
})
