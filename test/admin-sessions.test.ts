// Starts first: it starts many servers.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Child, fetchHttp, type HttpOptions, type ReadyLine, startServer, svcCommand } from '@svc/testkit'
import { hashPassword } from '../packages/auth/src/index.ts'

const API = '/__svc/admin/api'
const password = 'correct horse'
const hash = await hashPassword(password)
const otherHash = await hashPassword(password)
const SECRET = '0123456789abcdef0123456789abcdef'

function user(username: string, role: string): string {
  const tenant = role === 'tenant_admin' ? 'tenant_id = "acme"\n' : ''
  return `[[admin.users]]\nusername = "${username}"\npassword_hash = "${hash}"\nrole = "${role}"\n${tenant}`
}

const users = [user('root', 'super_admin'), user('tom', 'tenant_admin'), user('vera', 'viewer')]
const config = `[server]
listen = "127.0.0.1:0"
workers = 2
[admin]
enabled = true
jwt_secret = "${SECRET}"
${users.join('')}`

interface Answer {
  readonly status: number
  readonly json: {
    readonly code?: string
    readonly token: string
    readonly jti: string
    readonly expires_at: string
    readonly user: unknown
    readonly users: readonly unknown[]
    readonly sessions: readonly { readonly jti: string; readonly kind: string; readonly username: string }[]
    readonly errors?: readonly { readonly path: string }[]
  }
  readonly headers: Awaited<ReturnType<typeof fetchHttp>>['headers']
}

/** A server of the product, and requests to its endpoints, each on a connection of its own: to any of its workers. */
class Panel {
  readonly url: string
  readonly child: Child
  readonly configFile: string
  readonly #t: TestContext

  constructor(t: TestContext, child: Child, ready: ReadyLine, configFile: string) {
    this.#t = t
    this.child = child
    this.configFile = configFile
    this.url = ready.listen[0] ?? ''
  }

  static async start(t: TestContext, text = config): Promise<Panel> {
    const { child, ready, configFile = '' } = await startServer(t, { config: text })
    return new Panel(t, child, ready, configFile)
  }

  /** Starts the server again on the same directories. */
  async restart(): Promise<Panel> {
    const child = new Child(this.#t, svcCommand, ['serve', '--config', this.configFile])
    const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
    return new Panel(this.#t, child, JSON.parse(line), this.configFile)
  }

  async ask(method: string, path: string, body?: unknown, { headers, ...options }: HttpOptions = {}): Promise<Answer> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const text = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const answer = await fetchHttp(this.url + API + path, { method, headers: { ...type, ...headers }, ...text, ...options })
    return { status: answer.status, json: JSON.parse(answer.text), headers: answer.headers }
  }

  login(username = 'root', options: HttpOptions = {}, given = password): Promise<Answer> {
    return this.ask('POST', '/login', { username, password: given }, options)
  }

  async bearer(username = 'root'): Promise<HttpOptions> {
    return { headers: { authorization: `Bearer ${(await this.login(username)).json.token}` } }
  }

  /** Statuses of one request, asked so often that every worker answers. */
  async everywhere(options: HttpOptions): Promise<Set<number>> {
    const answers = await Promise.all(Array.from({ length: 24 }, () => this.ask('GET', '/session', undefined, options)))
    return new Set(answers.map(({ status }) => status))
  }
}

function from(t: TestContext, localAddress: string): HttpOptions {
  const agent = new Agent({ localAddress, keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  return { agent }
}

test('on the host of a site there is no session cookie: it is neither set nor accepted', async (t) => {
  const panel = await Panel.start(t, `${config}[[sites]]\nid = "shop"\nhostnames = ["shop.test", "localhost"]\nroot = "."\n`)
  for (const host of ['shop.test', 'localhost', 'unknown.test']) {
    const { status, json, headers } = await panel.login('root', { host })
    assert.deepEqual([status, headers['set-cookie']], [200, undefined], host)
    const asked = (fields: Record<string, string>) => panel.ask('GET', '/session', undefined, { host, headers: fields })
    assert.equal((await asked({ cookie: `SVC_ADMIN=${json.token}` })).status, 401, host)
    assert.equal((await asked({ authorization: `Bearer ${json.token}` })).status, 200, host)
  }
})

/** Method, path, a body that is right, and the users that may call it. */
const endpoints: readonly [method: string, path: string, body: unknown, allowed: readonly string[]][] = [
  ['GET', '/session', undefined, ['vera', 'tom', 'root']],
  ['GET', '/users', undefined, ['root']],
  ['GET', '/sessions', undefined, ['root']],
  ['POST', '/tokens', { username: 'vera', ttl_secs: 60 }, ['root']],
  ['DELETE', '/sessions/unknown', undefined, ['root']],
  ['DELETE', '/tokens/unknown', undefined, ['root']],
  ['POST', '/session/refresh', undefined, ['vera', 'tom', 'root']],
  ['POST', '/logout', undefined, ['vera', 'tom', 'root']],
]

// The first sees the sessions of all; each begins its own. The last ones change the configuration, and kill the server.
test('on one server', async (t) => {
  const panel = await Panel.start(t)

  await t.test('users, sessions and tokens are listed, and each can be ended', async () => {
    const root = await panel.bearer()
    const vera = await panel.bearer('vera')
    assert.deepEqual((await panel.ask('GET', '/users', undefined, root)).json.users, [
      { username: 'root', role: 'super_admin', tenant_id: null },
      { username: 'tom', role: 'tenant_admin', tenant_id: 'acme' },
      { username: 'vera', role: 'viewer', tenant_id: null },
    ])
    const issued = (await panel.ask('POST', '/tokens', { username: 'tom', ttl_secs: 600 }, root)).json
    const tom = { headers: { authorization: `Bearer ${issued.token}` } }
    assert.deepEqual(await panel.everywhere(tom), new Set([200]))
    const { sessions } = (await panel.ask('GET', '/sessions', undefined, root)).json
    assert.deepEqual(sessions.map(({ kind, username }) => `${kind} ${username}`).sort(), [
      'session root',
      'session vera',
      'token tom',
    ])
    assert.deepEqual(Object.keys(sessions[0] ?? {}).sort(), [
      ...['address', 'expires_at', 'issued_at', 'jti', 'kind', 'role', 'user_agent', 'username'],
    ])
    const ofVera = sessions.find(({ username }) => username === 'vera')?.jti ?? ''
    assert.equal((await panel.ask('DELETE', `/tokens/${ofVera}`, undefined, root)).status, 404, 'it is no token')
    assert.equal((await panel.ask('DELETE', `/sessions/${ofVera}`, undefined, root)).status, 200)
    assert.equal((await panel.ask('DELETE', `/sessions/${ofVera}`, undefined, root)).status, 404, 'it has ended')
    assert.deepEqual(await panel.everywhere(vera), new Set([401]))
    assert.equal((await panel.ask('DELETE', `/tokens/${issued.jti}`, undefined, root)).status, 200)
    assert.deepEqual(await panel.everywhere(tom), new Set([401]))
    assert.deepEqual(await panel.everywhere(root), new Set([200]))
  })

  await t.test('a change by cookie needs the own origin and the field of the panel; a bearer token does not', async () => {
    const { token } = (await panel.login()).json
    const cookie = `SVC_ADMIN=${token}`
    const logout = (headers: Record<string, string>) =>
      panel.ask('POST', '/logout', undefined, { headers: { cookie, ...headers } })
    for (const headers of [
      {},
      { origin: panel.url },
      { 'x-svc-request': '1' },
      { origin: 'http://evil.test', 'x-svc-request': '1' },
      { origin: panel.url.replace('http:', 'https:'), 'x-svc-request': '1' },
    ]) {
      const { status, json } = await logout(headers)
      assert.deepEqual([status, json.code], [403, 'cross_site'], JSON.stringify(headers))
    }
    assert.equal((await logout({ origin: panel.url, 'x-svc-request': '1' })).status, 200)
  })

  await t.test('each endpoint asks for credentials and for its role, and answers its method alone', async () => {
    for (const [method, path, body, allowed] of endpoints) {
      const name = `${method} ${path}`
      const nobody = await panel.ask(method, path, body)
      assert.deepEqual([nobody.status, nobody.headers['www-authenticate']], [401, 'Bearer'], name)
      for (const username of ['vera', 'tom', 'root']) {
        const { status } = await panel.ask(method, path, body, await panel.bearer(username))
        const expected = !allowed.includes(username) ? 403 : path.endsWith('unknown') ? 404 : 200
        assert.equal(status, expected, `${name} as ${username}`)
      }
      const wrong = await panel.ask('PUT', path, {})
      assert.deepEqual([wrong.status, wrong.json.code], [405, 'method_not_allowed'], name)
    }
    assert.equal((await panel.ask('GET', '/login')).status, 405)
  })

  await t.test('a body that does not fit is refused, and the answer names the field', async () => {
    const root = await panel.bearer()
    const refused = async (path: string, body: unknown, field: string, options: HttpOptions = {}) => {
      const { status, json } = await panel.ask('POST', path, body, options)
      assert.deepEqual([status, json.errors?.[0]?.path], [400, field], `${path} ${JSON.stringify(body)}`)
    }
    const right = { username: 'root', password }
    await refused('/login', '{', '')
    await refused('/login', '[]', '')
    await refused('/login', { password }, 'username')
    await refused('/login', { ...right, username: '' }, 'username')
    await refused('/login', { ...right, username: 'x'.repeat(257) }, 'username')
    await refused('/login', { ...right, username: ['root'] }, 'username')
    await refused('/login', { username: 'root' }, 'password')
    await refused('/login', { ...right, password: '' }, 'password')
    await refused('/login', { ...right, password: 'x'.repeat(1_025) }, 'password')
    await refused('/login', { ...right, remember: true }, 'remember')
    await refused('/tokens', { ttl_secs: 60 }, 'username', root)
    await refused('/tokens', { username: 'vera' }, 'ttl_secs', root)
    for (const ttl of [0, 0.5, '60', 31_536_001]) await refused('/tokens', { username: 'vera', ttl_secs: ttl }, 'ttl_secs', root)
    await refused('/logout', { all: true }, 'all', root)
    const text = await panel.ask('POST', '/login', JSON.stringify(right), { headers: { 'content-type': 'text/plain' } })
    assert.equal(text.status, 415)
    assert.equal((await panel.ask('POST', '/tokens', { username: 'nobody', ttl_secs: 60 }, root)).status, 404)
  })

  await t.test('wrong user and wrong password get the same answer', async () => {
    const [unknown, wrong] = [await panel.login('nobody'), await panel.login('root', {}, 'wrong')]
    const shown = ({ status, headers, json }: Answer) => [status, headers['www-authenticate'], { ...json, request_id: '' }]
    assert.deepEqual(shown(unknown), shown(wrong))
    assert.deepEqual([wrong.status, wrong.json.code, wrong.headers['www-authenticate']], [401, 'bad_credentials', 'Bearer'])
  })

  await t.test('a refresh gives a new session for the old one; a token for programs has none', async () => {
    const vera = await panel.bearer('vera')
    const fresh = await panel.ask('POST', '/session/refresh', undefined, vera)
    assert.deepEqual([fresh.status, fresh.json.user], [200, { username: 'vera', role: 'viewer', tenant_id: null }])
    assert.match(fresh.headers['set-cookie']?.[0] ?? '', /^SVC_ADMIN=/)
    assert.deepEqual(await panel.everywhere(vera), new Set([401]))
    assert.deepEqual(await panel.everywhere({ headers: { authorization: `Bearer ${fresh.json.token}` } }), new Set([200]))
    const again = { headers: { authorization: `Bearer ${fresh.json.token}` } }
    const [one, other, logout] = await Promise.all([
      panel.ask('POST', '/session/refresh', undefined, again),
      panel.ask('POST', '/session/refresh', undefined, again),
      panel.ask('POST', '/logout', undefined, again),
    ])
    assert.ok([200, 401].includes(logout.status), 'the refresh may have ended the session before')
    const begun = [one, other].filter(({ status }) => status === 200)
    assert.ok(begun.length <= 1, 'one session takes the place of one')
    for (const { json } of logout.status === 200 ? begun : []) {
      assert.deepEqual(await panel.everywhere({ headers: { authorization: `Bearer ${json.token}` } }), new Set([401]))
    }
    const { token } = (await panel.ask('POST', '/tokens', { username: 'vera', ttl_secs: 600 }, await panel.bearer())).json
    const refused = await panel.ask('POST', '/session/refresh', undefined, { headers: { authorization: `Bearer ${token}` } })
    assert.deepEqual([refused.status, refused.json.code], [409, 'not_a_session'])
  })

  await t.test('a thousand wrong passwords from one address lock out neither another address nor another user', async (t) => {
    assert.equal((await panel.login('root', from(t, '127.0.0.3'))).status, 200)
    const attacker = from(t, '127.0.0.66')
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => panel.login('root', attacker, 'wrong')))
    const counts = Map.groupBy(answers, ({ status }) => status)
    assert.deepEqual([...counts.keys()].sort(), [401, 429])
    assert.ok((counts.get(401)?.length ?? 0) <= 15, 'few passwords are tried')
    for (const { headers, json } of counts.get(429) ?? []) {
      assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
      assert.equal(json.code, 'too_many_logins')
    }
    assert.equal((await panel.login('root', from(t, '127.0.0.3'))).status, 200, 'an address that root knows')
    assert.equal((await panel.login('root', from(t, '127.0.0.4'))).status, 200, 'a new address')
    assert.equal((await panel.login('vera', attacker)).status, 200, 'another user, even behind the same address')
  })

  await t.test('users and secret of a reload count at once', async () => {
    const [root, vera] = [await panel.bearer(), await panel.bearer('vera')]
    const reload = async (change: (text: string) => string) => {
      writeFileSync(panel.configFile, change(readFileSync(panel.configFile, 'utf8')))
      const { status } = await fetchHttp(`${panel.url}/__svc/api/reload`, { method: 'POST' })
      assert.equal(status, 200)
    }
    await reload((text) => text.replace(user('vera', 'viewer'), ''))
    assert.deepEqual(await panel.everywhere(vera), new Set([401]))
    assert.equal((await panel.login('vera')).status, 401)
    assert.deepEqual(await panel.everywhere(root), new Set([200]))
    const tom = await panel.bearer('tom')
    await reload((text) => text.replace(user('tom', 'tenant_admin'), user('tom', 'tenant_admin').replace(hash, otherHash)))
    assert.deepEqual(await panel.everywhere(tom), new Set([401]), 'the password was changed')
    assert.deepEqual(await panel.everywhere(root), new Set([200]))
    assert.deepEqual(await panel.everywhere(await panel.bearer('tom')), new Set([200]))
    await reload((text) => text.replace(SECRET, SECRET.toUpperCase()))
    assert.deepEqual(await panel.everywhere(root), new Set([401]))
    assert.deepEqual(await panel.everywhere(await panel.bearer()), new Set([200]))
  })

  await t.test(
    'a login begins a session by token and by cookie, and a logout ends it on every worker and over a crash',
    async () => {
      const { status, json, headers } = await panel.login()
      assert.deepEqual([status, json.user], [200, { username: 'root', role: 'super_admin', tenant_id: null }])
      const [set = ''] = headers['set-cookie'] ?? []
      assert.equal(set, `SVC_ADMIN=${json.token}; Max-Age=3600; Path=/__svc/; HttpOnly; SameSite=Strict`)
      const cookie = { cookie: `SVC_ADMIN=${json.token}` }
      const bearer = { headers: { authorization: `Bearer ${json.token}` } }
      const shown = await panel.ask('GET', '/session', undefined, { headers: cookie })
      assert.deepEqual([shown.json.user, shown.json.expires_at], [json.user, json.expires_at])
      assert.deepEqual(await panel.everywhere(bearer), new Set([200]))

      const other = await panel.bearer()
      const ended = await panel.ask('POST', '/logout', undefined, bearer)
      assert.equal(ended.status, 200)
      assert.match(ended.headers['set-cookie']?.[0] ?? '', /^SVC_ADMIN=; Max-Age=0; Path=\/__svc\//)
      assert.deepEqual(await panel.everywhere(bearer), new Set([401]))
      assert.deepEqual(await panel.everywhere({ headers: cookie }), new Set([401]))
      await panel.child.kill()
      const again = await panel.restart()
      assert.deepEqual(await again.everywhere(bearer), new Set([401]))
      assert.deepEqual(await again.everywhere(other), new Set([200]), 'another session goes on')
    },
  )
})

test('without the group the endpoints are not there; without the panel no user logs in', async (t) => {
  const off = await Panel.start(t, `${config}[endpoints]\nadmin = false\n`)
  const { status, json } = await off.login()
  assert.deepEqual([status, json.code], [404, 'unknown_endpoint'])
  const locked = await Panel.start(t, `${config.replace('enabled = true', 'enabled = false')}[endpoints]\nadmin = true\n`)
  const refused = await locked.login()
  assert.deepEqual([refused.status, refused.json.code], [409, 'logins_off'])
})
