import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginAttempt, LoginThrottle } from '../src/index.ts'

const MINUTE = 60_000

function by(username: string, address: string): LoginAttempt {
  return { username, address, isConfigured: true }
}

/** An address of a network of its own for each number. */
function elsewhere(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}

/** Fails so many times, each as soon as it may. Returns the time after the last failure. */
function failTimes(throttle: LoginThrottle, attempt: LoginAttempt, times: number, nowMs = 0): number {
  let now = nowMs
  for (let done = 0; done < times; ) {
    const verdict = throttle.begin(attempt, now)
    if (verdict.kind === 'go') done++
    else now += verdict.retryAfterSecs * 1000
  }
  return now
}

test('a user from one address has five failures, then growing waits of at most 15 minutes', () => {
  const throttle = new LoginThrottle()
  const attempt = by('ann', '192.0.2.1')
  let now = failTimes(throttle, attempt, 5)
  assert.equal(now, 0)
  const waits: number[] = []
  for (let i = 0; i < 13; i++) {
    const verdict = throttle.begin(attempt, now)
    assert.ok(verdict.kind === 'throttled')
    waits.push(verdict.retryAfterSecs)
    assert.equal(throttle.begin(attempt, now + verdict.retryAfterSecs * 1000 - 1).kind, 'throttled')
    now += verdict.retryAfterSecs * 1000
    assert.equal(throttle.begin(attempt, now).kind, 'go')
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
})

test('attempts at once count before they have failed', () => {
  const throttle = new LoginThrottle()
  const verdicts = Array.from({ length: 50 }, () => throttle.begin(by('ann', '192.0.2.1'), 0).kind)
  assert.equal(verdicts.filter((kind) => kind === 'go').length, 5)
})

test('a success starts the count of the user again', () => {
  const throttle = new LoginThrottle()
  const attempt = by('ann', '192.0.2.1')
  for (let round = 0; round < 5; round++) {
    assert.equal(failTimes(throttle, attempt, 5), 0)
    const now = failTimes(throttle, attempt, 1)
    assert.equal(now, 1_000, 'the sixth waits')
    throttle.succeeded(attempt)
  }
})

test('an address has twenty failures over all users, and a success of one of them does not free it', () => {
  const throttle = new LoginThrottle()
  for (let i = 0; i < 20; i++) assert.equal(throttle.begin(by(`user${i}`, '192.0.2.1'), 0).kind, 'go')
  throttle.succeeded(by('user0', '192.0.2.1'))
  assert.equal(throttle.begin(by('user20', '192.0.2.1'), 0).kind, 'go', 'the success was no failure')
  assert.equal(throttle.begin(by('user21', '192.0.2.1'), 0).kind, 'throttled')
  assert.equal(throttle.begin(by('user21', '192.0.2.2'), 0).kind, 'go', 'another address is free')
})

test('the addresses of one IPv6 client count as one', () => {
  const throttle = new LoginThrottle()
  for (let i = 0; i < 5; i++) assert.equal(throttle.begin(by('ann', `2001:db8::${i}`), 0).kind, 'go')
  assert.equal(throttle.begin(by('ann', '2001:db8::99'), 0).kind, 'throttled')
  assert.equal(throttle.begin(by('ann', '2001:db8:0:1::1'), 0).kind, 'go')
})

test('failures are forgotten after an hour without one', () => {
  const throttle = new LoginThrottle()
  const attempt = by('ann', '192.0.2.1')
  const now = failTimes(throttle, attempt, 10)
  assert.equal(failTimes(throttle, attempt, 5, now + 61 * MINUTE), now + 61 * MINUTE)
})

/** True if an attempt goes and has to wait for a turn. */
function isQueued(throttle: LoginThrottle, attempt: LoginAttempt): boolean {
  const verdict = throttle.begin(attempt, 0)
  assert.ok(verdict.kind === 'go')
  return verdict.isQueued
}

test('after twenty failures of a user from anywhere, strange addresses queue', () => {
  const throttle = new LoginThrottle()
  const queued = Array.from({ length: 21 }, (_, i) => isQueued(throttle, by('ann', elsewhere(i))))
  assert.deepEqual(queued, [...Array(20).fill(false), true])
  assert.equal(isQueued(throttle, by('ben', elsewhere(500))), false, 'another user is free')
  throttle.succeeded(by('ann', elsewhere(21)))
  assert.equal(isQueued(throttle, by('ann', elsewhere(22))), false, 'a success ends it')
})

test('an attempt that got no turn is no failure', () => {
  const throttle = new LoginThrottle()
  for (let i = 0; i < 100; i++) {
    assert.equal(isQueued(throttle, by('ann', '192.0.2.1')), false)
    throttle.withdrawn(by('ann', '192.0.2.1'))
  }
  const verdict = throttle.begin(by('ann', '192.0.2.1'), 0)
  assert.ok(verdict.kind === 'go' && !verdict.hasFailed)
  const next = throttle.begin(by('ann', '192.0.2.1'), 0)
  assert.ok(next.kind === 'go' && next.hasFailed)
})

test('an address from which the user has logged in is not slowed by failures from elsewhere', () => {
  const throttle = new LoginThrottle()
  const home = by('ann', '192.0.2.1')
  throttle.begin(home, 0)
  assert.equal(throttle.succeeded(home), true)
  for (let i = 0; i < 1_000; i++) throttle.begin(by('ann', elsewhere(i)), 0)
  // Other users behind the same address fail too.
  for (let i = 0; i < 1_000; i++) throttle.begin(by(`user${i}`, '192.0.2.1'), 0)
  assert.equal(isQueued(throttle, home), false)
  assert.equal(throttle.succeeded(home), false, 'nothing new to save')
})

test('a known address gets no more guesses than others', () => {
  const throttle = new LoginThrottle({ ann: ['192.0.2.1'] })
  const home = by('ann', '192.0.2.1')
  assert.equal(failTimes(throttle, home, 5), 0)
  assert.equal(throttle.begin(home, 0).kind, 'throttled')
})

test('a flood of addresses and names pushes out nothing that is known of a user', () => {
  const throttle = new LoginThrottle()
  throttle.begin(by('ann', '192.0.2.1'), 0)
  throttle.succeeded(by('ann', '192.0.2.1'))
  for (let i = 0; i < 20; i++) throttle.begin(by('ann', elsewhere(i)), 0)
  for (let i = 0; i < 30_000; i++) {
    throttle.begin({ username: `made-up-${i}`, address: elsewhere(1_000 + i), isConfigured: false }, 0)
  }
  assert.equal(throttle.isKnown(by('ann', '192.0.2.1')), true)
  assert.equal(isQueued(throttle, by('ann', elsewhere(40_000))), true)
})

test('known addresses are bounded for each user, survive a restart, and end with the user', () => {
  const throttle = new LoginThrottle()
  for (let i = 0; i < 40; i++) throttle.succeeded(by('ann', elsewhere(i)))
  throttle.succeeded(by('ben', '2001:db8::1'))
  assert.equal(throttle.known['ann']?.length, 32)
  const next = new LoginThrottle(throttle.known)
  assert.equal(next.isKnown(by('ann', elsewhere(39))), true)
  assert.equal(next.isKnown(by('ann', elsewhere(7))), false)
  assert.equal(next.isKnown(by('ben', '2001:db8::2')), true)
  next.retain((username) => username === 'ann')
  assert.deepEqual(Object.keys(next.known), ['ann'])
})
