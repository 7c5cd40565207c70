import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renewalAt, retryDelayMs } from '../src/acme/renewal.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('renewals', () => {
  test('come after two thirds of the life, spread over the hosts, and always at the same time for one', () => {
    const life = { notBefore: 1_000 * DAY, notAfter: 1_090 * DAY }
    const times = Array.from({ length: 200 }, (_, at) => renewalAt(`h${at}.test`, life))
    for (const at of times) assert.ok(at >= 1_060 * DAY && at <= 1_064 * DAY, String(at / DAY))
    assert.ok(Math.max(...times) - Math.min(...times) > 3 * DAY)
    assert.equal(renewalAt('h7.test', life), times[7])
  })

  test('a certificate that lives six days is renewed with two days to go', () => {
    const at = renewalAt('a.test', { notBefore: 0, notAfter: 6 * DAY })
    assert.ok(at >= 4 * DAY && at <= 4.25 * DAY)
  })
})

describe('tries after a failure', () => {
  test('come after a minute, then doubling, once a day in the end', () => {
    const waits = Array.from({ length: 30 }, (_, at) => retryDelayMs(at + 1, false))
    assert.deepEqual(waits.slice(0, 4), [60_000, 120_000, 240_000, 480_000])
    assert.equal(Math.max(...waits), DAY)
    assert.deepEqual(
      waits,
      waits.toSorted((a, b) => a - b),
    )
  })

  test('come an hour later at the earliest when there were too many', () => {
    assert.equal(retryDelayMs(1, true), HOUR)
    assert.equal(retryDelayMs(30, true), DAY)
  })

  test('come no earlier than the authority asks for, and within a week whatever it says', () => {
    assert.equal(retryDelayMs(1, true, 5 * HOUR), 5 * HOUR)
    assert.equal(retryDelayMs(1, false, 1), 60_000)
    assert.equal(retryDelayMs(30, false, 3 * DAY), 3 * DAY)
    assert.equal(retryDelayMs(1, true, 4_000 * DAY), 7 * DAY)
  })
})
