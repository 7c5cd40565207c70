// Runs alone: it waits for many limits.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ManualClock } from '@svc/testkit'
import { PasswordCheck, type PasswordVerdict, type Requester } from '../src/vhost/passwords/password-check.ts'
import { PasswordThread } from '../src/vhost/passwords/password-thread.ts'
import { VhostServer } from './vhost-server.ts'

/** "secret". */
const BCRYPT = '$2y$05$fMdfX42zA.UIB6RpED2OjuBbAzr8ZbrygqPTWl4JxHa4sEyKG0xrS'
const SHA512 = '$6$saltstring$AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.'
const MINUTES = 60_000

const lanes = { a: { name: 'a' }, b: { name: 'b' } }
const from = (client: string, lane: object = lanes.a): Requester => ({ lane, client })

/** Checks that are worked out by the real thread, each written down when it begins. */
class Checks {
  readonly begun: string[] = []
  readonly clock = new ManualClock()
  readonly #check: PasswordCheck

  constructor(t: TestContext) {
    const thread = new PasswordThread(new URL('../src/vhost/passwords/thread-main.ts', import.meta.url))
    t.after(() => thread.close())
    const noted = (password: Uint8Array, stored: string) => {
      this.begun.push(Buffer.from(password).toString())
      return thread.check(password, stored)
    }
    this.#check = new PasswordCheck({ check: noted }, this.clock)
  }

  check(password: string, asker: Requester, stored = BCRYPT): PasswordVerdict | Promise<PasswordVerdict> {
    return this.#check.check(Buffer.from(password), stored, asker)
  }
}

function basic(user: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

test('wrong guesses at one server do not keep the users of another one out', async (t) => {
  const server = await VhostServer.start(
    t,
    `auth_basic Staff; auth_basic_user_file {dir}/users; root {dir};
    server { listen {on0}; server_name a.test; }
    server { listen {on0}; server_name b.test; }`,
    { users: `ann:${BCRYPT}\n`, text: 'of b' },
  )
  let answered = 0
  const guesses = Array.from({ length: 400 }, async (_, index) => {
    const remoteAddress = `10.0.${index >> 4}.${index & 15}`
    const { status } = await server.get('/text', { headers: basic('ann', `guess ${index}`), remoteAddress })
    answered++
    return status
  })
  const right = await server.get('/text', { host: 'b.test', headers: basic('ann', 'secret'), remoteAddress: '192.0.2.1' })
  assert.equal(right.status, 200)
  assert.equal(right.text, 'of b')
  assert.ok(answered < 300, 'it does not wait for the guesses')
  const statuses = await Promise.all(guesses)
  assert.ok(statuses.every((status) => status === 401 || status === 503))
  assert.ok(statuses.includes(503), 'a queue has an end')
})

test('lanes take turns, and within a lane clients do', async (t) => {
  const checks = new Checks(t)
  const all = [
    ...[1, 2, 3, 4].map((number) => checks.check(`a${number}`, from('192.0.2.1'))),
    checks.check('a5', from('192.0.2.2')),
    ...[1, 2].map((number) => checks.check(`b${number}`, from('192.0.2.1', lanes.b))),
  ]
  await Promise.all(all)
  assert.deepEqual(checks.begun, ['a1', 'a2', 'b1', 'a5', 'b2', 'a3', 'a4'])
})

test('when all places are taken, the longest queue gives one up: first the client that fills it', async (t) => {
  const checks = new Checks(t)
  const flood = Array.from({ length: 257 }, (_, index) => checks.check(`a${index}`, from('192.0.2.1')))
  const other = checks.check('other', from('192.0.2.2'))
  const secret = checks.check('secret', from('192.0.2.1', lanes.b))
  assert.equal(await flood[256], 'busy', 'the last came too late for one of another client')
  assert.equal(await flood[255], 'busy')
  assert.equal(await secret, true)
  assert.equal(await other, false)
  assert.equal(await flood[0], false)
  await Promise.all(flood)
})

test('a client that guesses wrong too often is let in again after a while, and keeps no other client out', async (t) => {
  const checks = new Checks(t)
  const guesses = await Promise.all(Array.from({ length: 30 }, (_, index) => checks.check(`wrong ${index}`, from('192.0.2.1'))))
  assert.deepEqual(
    guesses,
    guesses.map((_, index) => (index < 20 ? false : 'limited')),
  )
  assert.equal(checks.check('secret', from('192.0.2.1', lanes.b)), 'limited', 'nothing is worked out for it')
  assert.equal(await checks.check('secret', from('192.0.2.2')), true)
  assert.equal(checks.check('secret', from('192.0.2.1')), true, 'what is known costs nothing')
  checks.clock.advance(3_000)
  assert.equal(await checks.check('wrong again', from('192.0.2.1')), false)
  assert.equal(checks.check('wrong once more', from('192.0.2.1')), 'limited')
  checks.clock.advance(MINUTES)
  assert.equal(await checks.check('wrong later', from('192.0.2.1')), false)
})

test('guesses are not counted where a client has no address, and right passwords never', async (t) => {
  const checks = new Checks(t)
  for (let index = 0; index < 30; index++) assert.equal(await checks.check(`wrong ${index}`, from('')), false)
  for (let index = 0; index < 30; index++) {
    checks.clock.advance(11 * MINUTES)
    assert.equal(await checks.check('secret', from('192.0.2.1')), true)
  }
  assert.equal(checks.begun.length, 60)
})

test('a slow password is hashed once, and its result is cached as long as requests use it', async (t) => {
  const checks = new Checks(t)
  const client = from('192.0.2.1')
  assert.deepEqual(await Promise.all(['secret', 'secret', 'wrong'].map((password) => checks.check(password, client))), [
    true,
    true,
    false,
  ])
  assert.deepEqual(checks.begun, ['secret', 'wrong'])
  assert.equal(checks.check('secret', client), true, 'at once')
  assert.equal(checks.check('wrong', client), false)
  assert.equal(await checks.check('secret', client, SHA512), true, 'another stored form is another question')
  assert.equal(checks.check('secret', client, 'secret'), false)
  checks.clock.advance(9 * MINUTES)
  assert.equal(checks.check('secret', client), true)
  checks.clock.advance(9 * MINUTES)
  assert.equal(checks.check('secret', client), true)
  checks.clock.advance(10 * MINUTES)
  const again = checks.check('secret', client)
  assert.ok(again instanceof Promise, 'it was forgotten')
  assert.equal(await again, true)
})

test('a limited client gets Retry-After', async (t) => {
  const server = await VhostServer.start(
    t,
    'server { listen {on0}; server_name a.test; root {dir}; auth_basic Staff; auth_basic_user_file {dir}/users; }',
    { users: `ann:${BCRYPT}\n`, text: 'text' },
  )
  const ask = (password: string) => server.get('/text', { headers: basic('ann', password), remoteAddress: '2001:db8::1' })
  const answers = await Promise.all(Array.from({ length: 21 }, (_, index) => ask(`wrong ${index}`)))
  const limited = answers.find(({ status }) => status === 429)
  assert.equal(limited?.headers['retry-after'], '3')
  assert.equal(limited?.headers['www-authenticate'], undefined)
  const beside = await server.get('/text', { headers: basic('ann', 'secret'), remoteAddress: '2001:db8::2' })
  assert.equal(beside.status, 429, 'a /64 is one client')
  const other = await server.get('/text', { headers: basic('ann', 'secret'), remoteAddress: '2001:db8:0:1::1' })
  assert.equal(other.status, 200)
})
