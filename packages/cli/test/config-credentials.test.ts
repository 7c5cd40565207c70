import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tokenKey, verifyPassword, verifyToken } from '@svc/auth'
import { type Cleanup, fetchHttp, startServer, tempDir, writeFiles } from '@svc/testkit'
import { runSvc, startSvc } from './run-svc.ts'

const secret = 'a secret of the tests, 32 bytes or more'

const credentials = (t: Cleanup, args: readonly string[], options: Parameters<typeof startSvc>[2] = {}) =>
  options.input === undefined
    ? runSvc(['config', 'credentials', ...args], options)
    : startSvc(t, ['config', 'credentials', ...args], options)

/** Writes a configuration with an empty site. */
function configDir(t: Cleanup, toml: string): string {
  const dir = tempDir(t)
  writeFiles(dir, {
    'svc.config.toml': `${toml}\n[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n`,
    'site/app/page.tsx': '',
  })
  return dir
}

test('create prints an entry that makes a user when it is appended, whatever the name contains', async (t) => {
  const dir = configDir(t, `[admin]\nenabled = true\njwt_secret = "${secret}"`)
  const username = 'a "quoted" \\ name\nof two lines \u007f é'
  const { code, stdout, stderr } = await credentials(t, ['create', '--username', username, '--role', 'viewer'], { input: 'pw\n' })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^# .*\[admin\]: enabled = true, and jwt_secret /m)
  writeFiles(dir, { 'svc.config.toml': readFileSync(join(dir, 'svc.config.toml'), 'utf8') + stdout })
  const check = await runSvc(['config', 'check'], { cwd: dir })
  assert.deepEqual([check.code, check.stdout], [0, `${dir}/svc.config.toml: ok, 1 site\n`])
  const token = await credentials(t, ['token', '--username', username], { cwd: dir })
  const claims = await verifyToken(token.stdout.trim(), tokenKey(secret), Date.now())
  assert.ok(typeof claims === 'object', token.stderr)
  assert.deepEqual([claims.username, claims.role, claims.tenantId], [username, 'viewer', undefined])
})

test('create --json prints the user alone, with a tenant where there is one', async (t) => {
  const tenant = ['--role', 'tenant_admin', '--tenant-id', 'shop']
  const [plain, scoped] = await Promise.all([
    credentials(t, ['create', '--json', '--username', 'alice', '--password', 'correct horse']),
    credentials(t, ['create', '--json', '--username', 'bob', ...tenant], { input: 'battery staple' }),
  ])
  assert.deepEqual([plain.code, scoped.code, scoped.stderr], [0, 0, ''])
  assert.match(plain.stderr, /^warning: /)
  const { password_hash: hash, ...alice } = JSON.parse(plain.stdout)
  const { password_hash: otherHash, ...bob } = JSON.parse(scoped.stdout)
  assert.deepEqual(alice, { username: 'alice', role: 'super_admin' })
  assert.deepEqual(bob, { username: 'bob', role: 'tenant_admin', tenant_id: 'shop' })
  assert.equal(await verifyPassword(hash, 'correct horse'), 'right')
  assert.equal(await verifyPassword(otherHash, 'battery staple'), 'right')
})

const user = (name: string, role: string, rest = '') =>
  `[[admin.users]]\nusername = "${name}"\npassword_hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"\nrole = "${role}"\n${rest}`
const users = `${user('alice', 'super_admin')}${user('bob', 'tenant_admin', 'tenant_id = "shop"\n')}`

test('token signs a token for a user of the configuration, with its role and tenant', async (t) => {
  const dir = configDir(t, `[admin]\nenabled = true\nsession_ttl_secs = 600\njwt_secret = "${secret}"\n${users}`)
  const [usual, short] = await Promise.all([
    credentials(t, ['token', '--username', 'alice'], { cwd: dir }),
    credentials(t, ['token', '--username', 'bob', '--ttl', '90'], { cwd: dir }),
  ])
  assert.deepEqual([usual.code, usual.stderr, short.code, short.stderr], [0, '', 0, ''])
  const read = (text: string) => verifyToken(text.replace(/\n$/, ''), tokenKey(secret), Date.now())
  const [alice, bob] = [await read(usual.stdout), await read(short.stdout)]
  assert.ok(typeof alice === 'object' && typeof bob === 'object')
  assert.deepEqual([alice.username, alice.role, alice.tenantId], ['alice', 'super_admin', undefined])
  assert.deepEqual([bob.username, bob.role, bob.tenantId], ['bob', 'tenant_admin', 'shop'])
  assert.deepEqual([alice.expiresAt - alice.issuedAt, bob.expiresAt - bob.issuedAt], [600_000, 90_000])
  assert.notEqual(alice.jti, bob.jti)
})

test('the server accepts the token, and none that another secret signed', async (t) => {
  const toml = (key: string) => `[admin]\nenabled = true\njwt_secret = "${key}"\n${user('alice', 'super_admin')}`
  const server = await startServer(t, { config: toml(secret) })
  const tokenOf = async (file: string) => (await credentials(t, ['token', '--username', 'alice', '--config', file])).stdout.trim()
  const own = await tokenOf(server.configFile ?? '')
  const foreign = await tokenOf(join(configDir(t, toml('another secret of more than 32 bytes')), 'svc.config.toml'))
  const url = `${server.url}/__svc/admin/api/cache/stats`
  const statusOf = async (token?: string) =>
    (await fetchHttp(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })).status
  assert.deepEqual([await statusOf(own), await statusOf(foreign), await statusOf()], [200, 401, 401])
})

test('token says why it cannot sign one', async (t) => {
  const unsigned = configDir(t, `[admin]\n${users}`)
  const ready = configDir(t, `[admin]\njwt_secret = "${secret}"\n${users}`)
  const wrong = configDir(t, '[admin]\njwt_secret = "short"\n')
  const run = (dir: string, name: string) => credentials(t, ['token', '--username', name], { cwd: dir })
  const [noSecret, noUser, noUsers, refused, disabled] = await Promise.all([
    run(unsigned, 'alice'),
    run(ready, 'carol'),
    run(configDir(t, ''), 'carol'),
    run(wrong, 'alice'),
    run(ready, 'alice'),
  ])
  assert.deepEqual([noSecret.code, noUser.code, noUsers.code, refused.code, disabled.code], [78, 64, 64, 78, 0])
  assert.deepEqual([noSecret.stdout, noUser.stdout, noUsers.stdout, refused.stdout], ['', '', '', ''])
  assert.match(noSecret.stderr, /admin\.jwt_secret is not set/)
  assert.match(noUser.stderr, /no user "carol" in the configuration; there are: alice, bob\n/)
  assert.match(noUsers.stderr, /no user "carol" in the configuration; it has none\n/)
  assert.match(refused.stderr, /admin\.jwt_secret: must have at least 32 bytes/)
  assert.match(disabled.stderr, /^notice: admin\.enabled is false: the server accepts no token\n$/)
})
