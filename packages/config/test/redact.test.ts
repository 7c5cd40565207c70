import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact } from '../src/index.ts'
import { loaded, loadText } from './load-text.ts'

const toml = `
[admin]
jwt_secret = "jwt-secret-jwt-secret-jwt-secret-x"
[[admin.users]]
username = "alice"
password_hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$password+secret"
role = "viewer"
[redis]
url = "redis://:redis-secret@10.0.0.1"
[env]
API_KEY = "shared-secret"
[telemetry]
otlp_endpoint = "https://user:otlp-secret@collector/v1"
[[route_rules]]
pattern = "/x"
upstream = "http://u:upstream-secret@backend/p@th"
[[sites]]
id = "a"
hostnames = ["a.org"]
root = "site"
env = { TOKEN = "site-secret" }
`

test('no secret is left in the output, and the rest is unchanged', async (t) => {
  const { config } = loaded((await loadText(t, toml)).result)
  const shown = redact(config)
  assert.doesNotMatch(JSON.stringify(shown), /[-+]secret/)
  assert.equal(shown.admin.jwt_secret, '***')
  assert.deepEqual(shown.admin.users[0], { username: 'alice', password_hash: '***', role: 'viewer' })
  assert.equal(shown.redis.url, '***')
  assert.equal(shown.telemetry.otlp_endpoint, 'https://***@collector/v1')
  assert.equal(shown.route_rules[0]?.upstream, 'http://***@backend/p@th')
  assert.deepEqual([shown.env, shown.sites[0]?.env], [{ API_KEY: '***' }, { TOKEN: '***' }])
  assert.deepEqual(shown.server, config.server)
})

test('the configuration itself keeps its secrets, and a missing one stays missing', async (t) => {
  const { config } = loaded((await loadText(t, toml)).result)
  redact(config)
  assert.equal(config.admin.jwt_secret, 'jwt-secret-jwt-secret-jwt-secret-x')
  const bare = loaded((await loadText(t, '')).result).config
  assert.equal('url' in redact(bare).redis, false)
})
