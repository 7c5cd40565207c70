import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { systemClock } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { SupervisorError } from '../../processes/src/errors/errors.ts'
import { AcmeStore } from '../src/acme/acme-store.ts'
import { renewalAt } from '../src/acme/automatic-certificates.ts'
import { concernsAll, OrderFailures, retryDelayMs } from '../src/acme/order-failures.ts'

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

  test('come no earlier than the authority asks for, and always within a week', () => {
    assert.equal(retryDelayMs(1, true, 5 * HOUR), 5 * HOUR)
    assert.equal(retryDelayMs(1, false, 1), 60_000)
    assert.equal(retryDelayMs(30, false, 3 * DAY), 3 * DAY)
    assert.equal(retryDelayMs(1, true, 4_000 * DAY), 7 * DAY)
  })
})

describe('a refusal', () => {
  test('that speaks of no name concerns all hosts of the account, and one that names the host or its domain that host', () => {
    const all = [
      'too many new orders (300) from this account in the last 3h0m0s, retry after 2026-01-01 00:00:00 UTC',
      'too many new registrations (10) from this IP address in the last 3h0m0s',
      'Service busy; retry later.',
      'too many certificates already issued for "other.test"',
    ]
    for (const text of all) assert.equal(concernsAll('rate_limit', text, 'www.shop.test'), true, text)
    const one = [
      'too many certificates (50) already issued for "shop.test" in the last 168h0m0s',
      'too many failed authorizations (5) for "WWW.shop.test" in the last 1h0m0s',
    ]
    for (const text of one) assert.equal(concernsAll('rate_limit', text, 'www.shop.test'), false, text)
    assert.equal(concernsAll('busy', 'shop.test', 'shop.test'), true)
    assert.equal(concernsAll('account', 'unknown', 'shop.test'), false)
  })

  test('is known as long as the process lives where it cannot be written', async (t) => {
    const directory = join(tempDir(t, 'acme'), 'acme')
    const logger = createLogger({ level: 'silent', format: 'json', base: {} })
    const failures = new OrderFailures(new AcmeStore(directory), systemClock, logger)
    await failures.load('https://ca.test/')
    writeFileSync(directory, 'no directory')
    const data = { refusal: 'rate_limit', retryAfterMs: 5 * HOUR }
    await failures.failed('a.test', new SupervisorError('SUP_CERTIFICATE', 'too many new orders', { data }))
    await failures.load('https://ca.test/')
    for (const host of ['a.test', 'b.test']) {
      assert.ok(failures.retryAt(host) > Date.now() + 4 * HOUR)
      assert.equal(failures.reason(host), 'too many new orders')
    }
    await failures.fulfilled('a.test')
    await failures.load('https://ca.test/')
    assert.equal(failures.retryAt('b.test'), 0)
  })
})
