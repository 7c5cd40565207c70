import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SessionRecord } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { ManualClock, tempDir } from '@svc/testkit'
import { SessionStore } from '../src/sessions/session-store.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })
const HOUR = 3_600_000

class Bench {
  readonly clock = new ManualClock()
  readonly dir: string
  readonly file: string

  constructor(t: TestContext) {
    this.dir = tempDir(t, 'sessions')
    this.file = join(this.dir, 'sessions.json')
  }

  open(): Promise<SessionStore> {
    return SessionStore.open({ file: this.file, clock: this.clock, logger })
  }

  session(jti: string, facts: Partial<SessionRecord> = {}): SessionRecord {
    const issuedAt = this.clock.now()
    const times = { issuedAt, expiresAt: issuedAt + HOUR }
    return { jti, kind: 'session', username: 'ann', role: 'viewer', ...times, address: '192.0.2.1', userAgent: 'test', ...facts }
  }
}

function ids(store: SessionStore): string[] {
  return store.records.map(({ jti }) => jti)
}

test('sessions, revocations and known networks survive the process', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  await store.add(bench.session('a'), { ann: ['192.0.2.1'] })
  await store.add(bench.session('b', { kind: 'token' }))
  await store.revoke({ jti: 'a' })?.saved
  const next = await bench.open()
  assert.deepEqual(next.records, [bench.session('b', { kind: 'token' })])
  assert.deepEqual(next.revocations.tokens, [{ jti: 'a', username: 'ann', expiresAt: bench.clock.now() + HOUR }])
  assert.deepEqual(next.networks, { ann: ['192.0.2.1'] })
  assert.equal(statSync(bench.file).mode & 0o777, 0o600)
})

test('what has expired is forgotten', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  await store.add(bench.session('a'))
  await store.add(bench.session('b'))
  await store.revoke({ jti: 'a' })?.saved
  bench.clock.advance(HOUR - 1)
  assert.deepEqual([ids(store), store.revocations.tokens.length], [['b'], 1])
  bench.clock.advance(1)
  assert.deepEqual([ids(store), store.revocations.tokens.length], [[], 0])
})

test('a token that is on no record is revoked by its holder alone', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  assert.equal(store.revoke({ jti: 'x' }), undefined)
  const expiresAt = bench.clock.now() + HOUR
  const revoked = store.revoke({ jti: 'x', holder: { username: 'ann', expiresAt } })
  assert.deepEqual(revoked?.ended.tokens, [{ jti: 'x', username: 'ann', expiresAt }])
  await revoked?.saved
  assert.deepEqual((await bench.open()).revocations.tokens, [{ jti: 'x', username: 'ann', expiresAt }])
})

test('a user has at most a hundred sessions: the one that expires first ends, and none of another user', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  await store.add(bench.session('other', { username: 'ben', expiresAt: bench.clock.now() + 1_000 }))
  const lives = Array.from({ length: 100 }, (_, i) => HOUR - i * 1_000)
  for (const [i, life] of lives.entries()) {
    assert.equal(await store.add(bench.session(`s${i}`, { expiresAt: bench.clock.now() + life })), undefined)
  }
  const ended = await store.add(bench.session('one more'))
  assert.deepEqual(ended?.tokens, [{ jti: 's99', username: 'ann', expiresAt: bench.clock.now() + HOUR - 99_000 }])
  assert.equal(ids(store).length, 101)
  assert.ok(ids(store).includes('other') && !ids(store).includes('s99'))
})

test('past a hundred revoked tokens of a user, all that were issued to it until then have ended', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  await store.add(bench.session('alive'))
  await store.add(bench.session('other', { username: 'ben' }))
  for (let i = 0; i < 100; i++) {
    await store.add(bench.session(`s${i}`))
    assert.deepEqual(store.revoke({ jti: `s${i}` })?.ended.users, [])
  }
  await store.add(bench.session('last'))
  const revoked = store.revoke({ jti: 'last' })
  await revoked?.saved
  const issuedBefore = bench.clock.now() + 1_000
  assert.deepEqual(revoked?.ended, { tokens: [], users: [{ username: 'ann', issuedBefore }], issuedBefore: 0 })
  assert.deepEqual(ids(store), ['other'])
  assert.deepEqual([store.issueTime('ann'), store.issueTime('ben')], [issuedBefore, bench.clock.now()])
  const next = await bench.open()
  assert.deepEqual(next.revocations, { tokens: [], users: [{ username: 'ann', issuedBefore }], issuedBefore: 0 })
  bench.clock.advance(1_000 * HOUR)
  assert.equal(next.revocations.users.length, 1, 'a token of the command line may live for long')
})

test('tokens end for users with another password, or that are gone; also when that was changed between two runs', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  const before = new Map([
    ['ann', 'first'],
    ['ben', 'first'],
    ['cy', 'first'],
  ])
  assert.deepEqual(store.followPasswords(before)?.ended.users, [])
  assert.equal(store.followPasswords(before), undefined)
  for (const username of before.keys()) await store.add(bench.session(username, { username }))
  const next = await bench.open()
  const after = new Map([
    ['ann', 'second'],
    ['ben', 'first'],
  ])
  const changed = next.followPasswords(after)
  const issuedBefore = bench.clock.now() + 1_000
  const users = ['ann', 'cy'].map((username) => ({ username, issuedBefore }))
  assert.deepEqual(changed?.ended, { tokens: [], users, issuedBefore: 0 })
  assert.deepEqual(ids(next), ['ben'])
  await next.add(bench.session('late', { username: 'ann' }))
  assert.deepEqual(ids(next), ['ben'], 'a token that was being signed meanwhile')
  await changed?.saved
  const last = await bench.open()
  assert.equal(last.followPasswords(after), undefined)
  assert.deepEqual([ids(last), last.revocations.users], [['ben'], users])
  assert.deepEqual(
    last.followPasswords(new Map(before))?.ended.users.map(({ username }) => username),
    ['ann'],
  )
})

test('of ten thousand users whose tokens ended the first is dropped, and then its time counts for all', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  const names = Array.from({ length: 10_001 }, (_, i) => `user${i}`)
  await store.followPasswords(new Map([...names, 'other'].map((name) => [name, 'first'])))?.saved
  await store.add(bench.session('other', { username: 'other' }))
  const kept = new Map([['other', 'first']])
  const ended = store.followPasswords(kept)?.ended
  assert.equal(ended?.issuedBefore, bench.clock.now() + 1_000)
  assert.equal(store.revocations.users.length, 10_000)
  assert.deepEqual(ids(store), [])
})

const damages: readonly [what: string, damage: (file: string) => void][] = [
  ['cut', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, -10), { mode: 0o600 })],
  ['empty', (file) => writeFileSync(file, '')],
  ['of another form', (file) => writeFileSync(file, '{"records": "none"}')],
  ['readable by others', (file) => chmodSync(file, 0o644)],
]
for (const [what, damage] of damages) {
  test(`a file that is ${what} is kept aside, and every token issued so far has ended`, async (t) => {
    const bench = new Bench(t)
    const store = await bench.open()
    await store.add(bench.session('a'))
    damage(bench.file)
    const next = await bench.open()
    assert.deepEqual(next.records, [])
    assert.equal(next.revocations.issuedBefore, bench.clock.now() + 1_000)
    assert.equal(next.issueTime('ann'), bench.clock.now() + 1_000, 'a new token is accepted')
    assert.ok(existsSync(`${bench.file}.damaged`))
    assert.deepEqual((await bench.open()).revocations, next.revocations, 'a second start knows it too')
  })
}

test('a session that cannot be saved does not begin; a revocation that cannot be saved counts and is saved with the next', async (t) => {
  const bench = new Bench(t)
  const store = await bench.open()
  await store.add(bench.session('a'))
  rmSync(bench.dir, { recursive: true })
  await assert.rejects(store.add(bench.session('b')), { code: 'SUP_SESSIONS' })
  assert.deepEqual(ids(store), ['a'])
  await assert.rejects(store.revoke({ jti: 'a' })?.saved ?? Promise.resolve(), { code: 'SUP_SESSIONS' })
  mkdirSync(bench.dir)
  await store.add(bench.session('c'))
  const next = await bench.open()
  assert.deepEqual([ids(next), next.revocations.tokens.map(({ jti }) => jti)], [['c'], ['a']])
})

test('partial files of a killed process are deleted', async (t) => {
  const bench = new Bench(t)
  writeFileSync(`${bench.file}.0123abcd.tmp`, 'half')
  writeFileSync(join(bench.dir, 'other.0123abcd.tmp'), 'not ours')
  await bench.open()
  assert.deepEqual(readdirSync(bench.dir), ['other.0123abcd.tmp'])
})
