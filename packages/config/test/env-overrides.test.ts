import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configDir, loadDir, loaded, loadText, problemLines } from './load-text.ts'

test('variables that fit no key or type are problems that name the variable', async (t) => {
  const env = {
    SVC_SERVER__LISTN: 'x',
    SVC_RENDER__QUEUE_MAX: 'many',
    SVC_METRICS__ENABLED: 'yes',
    SVC_SERVER__LISTEN__PORT: '1',
    SVC_TASKS: 'ignored: no double underscore',
    SVC_OBS__ALERTS: '[{',
  }
  const { dir, result } = await loadText(t, '', { env })
  assert.deepEqual(problemLines(dir, result), [
    'environment variable SVC_SERVER__LISTN: server.listn: unknown key (did you mean "listen"?)',
    'environment variable SVC_SERVER__LISTEN__PORT: server.listen.port: unknown key',
    'environment variable SVC_OBS__ALERTS: obs.alerts: not a TOML value: unexpected end of file',
    'environment variable SVC_RENDER__QUEUE_MAX: render.queue_max: expected a number, got a string',
    'environment variable SVC_METRICS__ENABLED: metrics.enabled: expected true or false, got a string',
  ])
})

test('variables override keys of the file, each read as the type of its key', async (t) => {
  const toml = '[server]\nlisten = "127.0.0.1:1"\nworkers = 1\n[cache.isr]\nmax_entries = 5\n'
  const env = {
    SVC_SERVER__WORKERS: '3',
    SVC_SERVER__TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    SVC_SERVER__RUN_DIR: 'elsewhere',
    SVC_CACHE__ISR__MAX_BYTES: '99',
    SVC_CACHE__L0__ENABLED: 'false',
    SVC_TELEMETRY__SAMPLE_RATE: '0.5',
    SVC_RATE_LIMIT__EXEMPT: '',
    SVC_ENV__Mixed_Case: '1',
  }
  const dir = configDir(t, { 'svc.config.toml': toml })
  const { config } = loaded(await loadDir(dir, { env, file: `${dir}/svc.config.toml`, cwd: '/tmp' }))
  assert.equal(config.server.listen, '127.0.0.1:1')
  assert.equal(config.server.workers, 3)
  assert.deepEqual(config.server.trusted_proxies, ['10.0.0.0/8', '::1'])
  assert.equal(config.server.run_dir, '/tmp/elsewhere')
  assert.deepEqual([config.cache.isr.max_entries, config.cache.isr.max_bytes], [5, 99])
  assert.equal(config.cache.l0.enabled, false)
  assert.equal(config.telemetry.sample_rate, 0.5)
  assert.deepEqual(config.rate_limit.exempt, [])
  assert.deepEqual(config.env, { Mixed_Case: '1' })
})

test('lists of tables are written as TOML values', async (t) => {
  const env = {
    SVC_ADMIN__USERS: '[{ username = "a", password_hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA", role = "viewer" }]',
  }
  const { result } = await loadText(t, '', { env })
  assert.equal(loaded(result).config.admin.users[0]?.username, 'a')
})

test('the .env file beside the config file counts, the operating system counts more, and process.env stays untouched', async (t) => {
  const files = { '.env': 'SVC_SERVER__WORKERS=2\nSVC_RENDER__WORKERS=2\nCONFIG_TEST_ONLY=1\n' }
  const { dir, result } = await loadText(t, '', { env: { SVC_SERVER__WORKERS: '7' } }, files)
  const { config, files: read } = loaded(result)
  assert.deepEqual([config.server.workers, config.render.workers], [7, 2])
  assert.deepEqual(read, [`${dir}/svc.config.toml`, `${dir}/.env`])
  assert.equal(process.env['CONFIG_TEST_ONLY'], undefined)
})

test('the address of the command line wins over all, and its problems name the option', async (t) => {
  const dir = configDir(t, { 'svc.config.toml': '[server]\nlisten = "127.0.0.1:1"\n' })
  const env = { SVC_SERVER__LISTEN: '127.0.0.1:2' }
  assert.equal(loaded(await loadDir(dir, { env, listen: '127.0.0.1:3' })).config.server.listen, '127.0.0.1:3')
  assert.deepEqual(problemLines(dir, await loadDir(dir, { env, listen: 'nowhere' })), [
    'option --listen: server.listen: expected host:port such as "127.0.0.1:8080" or "[::1]:8080"',
  ])
})

test('a variable that names a key with single underscores is worth a line, unless it is the target of a secret', async (t) => {
  const env = {
    SVC_SERVER_LOOPBACK_TRUST: 'false',
    SVC_CACHE_ISR_MAX_BYTES: '1',
    SVC_ADMIN_JWT_SECRET: 'x'.repeat(32),
    SVC_SERVER: 'x',
    SVC_CONFIG_DIR: 'x',
    SVC_SERVER__LISTEN: '127.0.0.1:1',
  }
  const toml = '[admin]\njwt_secret = "env:SVC_ADMIN_JWT_SECRET"\n'
  assert.deepEqual(loaded((await loadText(t, toml, { env })).result).notices, [
    'environment variable SVC_SERVER_LOOPBACK_TRUST has no effect: did you mean SVC_SERVER__LOOPBACK_TRUST?',
    'environment variable SVC_CACHE_ISR_MAX_BYTES has no effect: did you mean SVC_CACHE__ISR__MAX_BYTES?',
  ])
})
