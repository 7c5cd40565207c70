import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { hashPassword } from '@svc/auth'
import type { Config } from '@svc/config'
import type { IssueReply, Revocations } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { ManualClock, tempDir, waitFor } from '@svc/testkit'
import { SessionStore } from '../src/sessions/session-store.ts'
import { Sessions } from '../src/sessions/sessions.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })
const SECRET = 's'.repeat(32)
const PASSWORD = 'right'
const password_hash = await hashPassword(PASSWORD)

type IssuedToken = NonNullable<IssueReply['issued']>

class Bench {
  readonly clock = new ManualClock()
  readonly announced: Revocations[] = []
  readonly dir: string
  admin: Config['admin'] = {
    enabled: true,
    jwt_secret: SECRET,
    session_ttl_secs: 3600,
    users: [
      { username: 'ann', role: 'super_admin', password_hash },
      { username: 'ben', role: 'tenant_admin', tenant_id: 'shop', password_hash },
    ],
  }
  /** Resolves the announcements. */
  announcing: Promise<void> = Promise.resolve()

  constructor(t: TestContext) {
    this.dir = tempDir(t, 'sessions')
  }

  async open(): Promise<Sessions> {
    const { clock } = this
    return new Sessions({
      store: await SessionStore.open({ file: join(this.dir, 'sessions.json'), clock, logger }),
      admin: () => this.admin,
      announce: (revocations) => {
        this.announced.push(revocations)
        return this.announcing
      },
      clock,
      logger,
    })
  }
}

/** The claims of a token of this secret (RFC 7519, RFC 7515); undefined: it has another. */
function claimsOf({ token }: IssuedToken, secret = SECRET): Record<string, unknown> | undefined {
  const [head = '', payload = '', signature] = token.split('.')
  const expected = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')
  return signature === expected ? JSON.parse(Buffer.from(payload, 'base64url').toString()) : undefined
}

function login(sessions: Sessions, username = 'ann', address = '192.0.2.1', password = PASSWORD): Promise<IssueReply> {
  return sessions.login({ username, password, address, userAgent: 'test' })
}

async function issued(reply: Promise<IssueReply>): Promise<IssuedToken> {
  const { issued: token, refused } = await reply
  assert.ok(token !== undefined, `refused: ${refused}`)
  return token
}

test('a login with the right password begins a session with a signed token', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const session = await issued(login(sessions, 'ben'))
  const { jti, issuedAt, expiresAt } = session
  assert.deepEqual(session.user, { username: 'ben', role: 'tenant_admin', tenantId: 'shop' })
  assert.deepEqual([issuedAt, expiresAt - issuedAt], [bench.clock.now(), 3_600_000])
  const times = { iat: issuedAt / 1000, exp: expiresAt / 1000 }
  assert.deepEqual(claimsOf(session), { iss: 'svc', sub: 'ben', role: 'tenant_admin', tenant_id: 'shop', jti, ...times })
  const record = { jti, kind: 'session', username: 'ben', role: 'tenant_admin', issuedAt, expiresAt }
  assert.deepEqual(sessions.list(), [{ ...record, address: '192.0.2.1', userAgent: 'test' }])
})

test('a wrong password and an unknown user get the same answer, and an unknown user costs a hash too', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  assert.deepEqual(await login(sessions, 'ann', '192.0.2.1', 'wrong'), { refused: 'credentials' })
  assert.deepEqual(await login(sessions, 'nobody'), { refused: 'credentials' })
  const hashes: string[] = []
  bench.admin = {
    ...bench.admin,
    users: bench.admin.users.map((user) => ({
      ...user,
      get password_hash() {
        hashes.push(user.username)
        return user.password_hash
      },
    })),
  }
  await login(sessions, 'nobody')
  assert.equal(hashes.length, 1, 'the hash of a user stands in')
})

test('a user whose hash cannot be read cannot log in', async (t) => {
  const bench = new Bench(t)
  bench.admin = { ...bench.admin, users: [{ username: 'ann', role: 'viewer', password_hash: '$argon2id$nothing' }] }
  assert.deepEqual(await login(await bench.open()), { refused: 'credentials' })
})

test('no user logs in while the panel is off, or without a secret', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const session = await issued(login(sessions))
  for (const off of [{ enabled: false }, { jwt_secret: undefined }]) {
    const { jwt_secret, ...rest } = bench.admin
    const admin = { ...rest, jwt_secret: SECRET, ...off }
    bench.admin = admin as Config['admin']
    assert.deepEqual(await login(sessions), { refused: 'not_available' })
    const sender = { address: '192.0.2.1', userAgent: '' }
    assert.deepEqual(await sessions.issueToken({ username: 'ann', ttlSecs: 60, ...sender }), { refused: 'not_available' })
    assert.deepEqual(await sessions.refresh({ jti: session.jti, username: 'ann', ...sender }), { refused: 'not_available' })
  }
})

test('users and secret of a reload count at once', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const before = await issued(login(sessions))
  bench.admin = { ...bench.admin, jwt_secret: 'n'.repeat(32), users: bench.admin.users.slice(0, 1) }
  assert.deepEqual(await login(sessions, 'ben'), { refused: 'credentials' })
  const after = await issued(login(sessions))
  assert.ok(claimsOf(before) !== undefined)
  assert.ok(claimsOf(after) === undefined && claimsOf(after, 'n'.repeat(32)) !== undefined, 'signed with the new secret')
})

test('a thousand wrong passwords from one address keep no other address out, and are answered with a wait', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const replies = await Promise.all(Array.from({ length: 1_000 }, () => login(sessions, 'ann', '192.0.2.66', 'wrong')))
  assert.equal(replies.filter(({ refused }) => refused === 'credentials').length, 5, 'only these cost a hash')
  const throttled = replies.filter(({ refused }) => refused === 'throttled')
  assert.equal(throttled.length, 995)
  assert.ok(throttled.every(({ retryAfterSecs }) => retryAfterSecs === 1))
  await issued(login(sessions, 'ann', '192.0.2.1'))
  await issued(login(sessions, 'ben', '192.0.2.1'))
})

test('while a flood of addresses fails as a user, that user logs in from a known address, also after a restart', async (t) => {
  const bench = new Bench(t)
  const first = await bench.open()
  await issued(login(first))
  const sessions = await bench.open()
  const wrong = Array.from({ length: 31 }, (_, i) => login(sessions, 'ann', `10.0.${i}.1`, 'wrong'))
  await issued(login(sessions))
  assert.equal(bench.clock.timers, 1, 'the others wait')
  for (let i = 0; i < 10; i++) bench.clock.advance(1_000)
  assert.ok((await Promise.all(wrong)).every(({ issued: none }) => none === undefined))
})

test('a strange address waits for its turn after twenty failures of the user, and gets in', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  await Promise.all(Array.from({ length: 21 }, (_, i) => login(sessions, 'ann', `10.0.${i}.1`, 'wrong')))
  const waiting = login(sessions, 'ann', '192.0.2.1')
  await waitFor('the attempt to wait', () => bench.clock.timers === 1)
  bench.clock.advance(1_000)
  await issued(waiting)
})

test('a refresh puts a new session in the place of the old one, which ends', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const before = await issued(login(sessions))
  bench.clock.advance(60_000)
  const sender = { address: '192.0.2.2', userAgent: 'other' }
  const after = await issued(sessions.refresh({ jti: before.jti, username: 'ann', ...sender }))
  assert.equal(after.expiresAt - before.expiresAt, 60_000)
  assert.deepEqual(
    sessions.list().map(({ jti }) => jti),
    [after.jti],
  )
  assert.deepEqual(
    bench.announced.flatMap(({ tokens }) => tokens.map(({ jti }) => jti)),
    [before.jti],
  )
  const again = await sessions.refresh({ jti: before.jti, username: 'ann', ...sender })
  assert.deepEqual(again, { refused: 'not_a_session' })
})

test('of refreshes at the same time one counts, and a logout ends what takes the place of its session', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const sender = { username: 'ann', address: '192.0.2.1', userAgent: 'test' }
  const jtis = () => sessions.list().map(({ jti }) => jti)
  const first = await issued(login(sessions))
  const replies = await Promise.all(Array.from({ length: 5 }, () => sessions.refresh({ jti: first.jti, ...sender })))
  const [second, ...others] = replies.flatMap(({ issued: one }) => one ?? [])
  assert.deepEqual([jtis(), others], [[second?.jti], []])
  assert.equal(replies.filter(({ refused }) => refused === 'not_a_session').length, 4)

  const overtaken = sessions.refresh({ jti: second?.jti ?? '', ...sender })
  assert.equal(await sessions.revoke({ jti: second?.jti ?? '' }), true)
  assert.deepEqual([await overtaken, jtis()], [{ refused: 'not_a_session' }, []])

  const third = await issued(login(sessions))
  const fourth = await issued(sessions.refresh({ jti: third.jti, ...sender }))
  assert.deepEqual(jtis(), [fourth.jti])
  assert.equal(await sessions.revoke({ jti: third.jti, holder: { username: 'ann', expiresAt: third.expiresAt } }), true)
  assert.deepEqual(jtis(), [], 'the logout was on its way when the refresh was answered')
})

test('a refresh that cannot be saved may be tried again', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const sender = { username: 'ann', address: '192.0.2.1', userAgent: 'test' }
  const { jti } = await issued(login(sessions))
  rmSync(bench.dir, { recursive: true })
  await assert.rejects(sessions.refresh({ jti, ...sender }), { code: 'SUP_SESSIONS' })
  mkdirSync(bench.dir)
  await issued(sessions.refresh({ jti, ...sender }))
})

test('a token for a program cannot be refreshed, nor a session by another user', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const sender = { address: '192.0.2.1', userAgent: 'test' }
  const token = await issued(sessions.issueToken({ username: 'ben', ttlSecs: 60, ...sender }))
  assert.deepEqual([token.expiresAt - token.issuedAt, sessions.list()[0]?.kind], [60_000, 'token'])
  assert.deepEqual(await sessions.refresh({ jti: token.jti, username: 'ben', ...sender }), { refused: 'not_a_session' })
  const session = await issued(login(sessions))
  assert.deepEqual(await sessions.refresh({ jti: session.jti, username: 'ben', ...sender }), { refused: 'not_a_session' })
  assert.deepEqual(await sessions.issueToken({ username: 'nobody', ttlSecs: 60, ...sender }), { refused: 'unknown_user' })
})

test('a revocation is answered when the workers know it', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  const session = await issued(login(sessions))
  const { promise, resolve } = Promise.withResolvers<void>()
  bench.announcing = promise
  let isAnswered = false
  const revoking = sessions.revoke({ jti: session.jti }).finally(() => {
    isAnswered = true
  })
  await waitFor('the announcement', () => bench.announced.length === 1)
  const saved = () => readFileSync(join(bench.dir, 'sessions.json'), 'utf8').includes(`"revoked":[{"jti":"${session.jti}"`)
  await waitFor('the revocation on disk', saved)
  assert.equal(isAnswered, false)
  resolve()
  assert.equal(await revoking, true)
  assert.equal(await sessions.revoke({ jti: 'unknown' }), false)
})

test('a changed password ends the sessions and tokens of its user, and a login that it overtakes', async (t) => {
  const bench = new Bench(t)
  const sessions = await bench.open()
  await sessions.followUsers()
  assert.deepEqual(bench.announced, [])
  await issued(login(sessions))
  const kept = await issued(login(sessions, 'ben'))
  const fresh = { username: 'ann', role: 'super_admin', password_hash: await hashPassword('new') } as const
  const overtaken = login(sessions)
  bench.admin = { ...bench.admin, users: [fresh, ...bench.admin.users.slice(1)] }
  const following = sessions.followUsers()
  assert.deepEqual(await overtaken, { refused: 'credentials' })
  await following
  assert.deepEqual(
    bench.announced.map(({ users }) => users),
    [[{ username: 'ann', issuedBefore: bench.clock.now() + 1_000 }]],
  )
  assert.deepEqual(
    sessions.list().map(({ jti }) => jti),
    [kept.jti],
  )
  const { issuedAt } = await issued(login(sessions, 'ann', '192.0.2.1', 'new'))
  assert.equal(issuedAt, bench.clock.now() + 1_000, 'it is not among those that have ended')
})
