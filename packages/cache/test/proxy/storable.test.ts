import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatHttpDate, type HeaderList } from '@svc/http'
import { type Refusal, type Storing, storingOf } from '../../src/index.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const OLD = formatHttpDate(NOW - 1_000_000_000)

interface Case {
  readonly status?: number
  readonly headers?: HeaderList
  readonly request?: HeaderList
  readonly method?: string
  readonly ruleSeconds?: number
  readonly delayMs?: number
  readonly ignored?: readonly string[]
}

function storing({
  status = 200,
  headers = [],
  request = [],
  method = 'GET',
  ruleSeconds,
  delayMs = 0,
  ignored = [],
}: Case): Storing | Refusal {
  const head = { status, headers }
  const times = { sentAt: NOW - delayMs, receivedAt: NOW }
  return storingOf({ request: { method, headers: request }, head, ruleSeconds, ignoredFields: new Set(ignored), ...times })
}

function refused(given: Case): string | undefined {
  const made = storing(given)
  return 'refused' in made ? made.refused : undefined
}

function kept(given: Case): Storing {
  const made = storing(given)
  return 'refused' in made ? assert.fail(`refused: ${made.refused}`) : made
}

const control = (value: string): HeaderList => [['cache-control', value]]

describe('a response is not kept', () => {
  const cases: Readonly<Record<string, readonly [string, Case]>> = {
    'that answers another method than GET': ['method', { method: 'HEAD', headers: control('max-age=9') }],
    'that is a part': ['status', { status: 206, headers: control('max-age=9') }],
    'that says nothing new': ['status', { status: 304, headers: control('max-age=9') }],
    'with a status that must be understood and is not': [
      'status',
      { status: 599, headers: control('max-age=9, must-understand') },
    ],
    'with no-store': ['no-store', { headers: control('max-age=9, No-Store') }],
    'for one user': ['private', { headers: control('private, max-age=9') }],
    'of which a field is for one user': ['private', { headers: control('private="set-cookie", max-age=9') }],
    'to credentials': ['authorization', { headers: control('max-age=9'), request: [['authorization', 'x']] }],
    'that sets a cookie': ['set-cookie', { headers: [...control('public, max-age=9'), ['set-cookie', 'a=b']] }],
    'to a request with no-store': ['request', { headers: control('max-age=9'), request: control('no-store') }],
    'that depends on anything': ['vary', { headers: [...control('max-age=9'), ['vary', 'a, *']] }],
    'that depends on very much': [
      'vary',
      { headers: [...control('max-age=9'), ['vary', Array.from({ length: 17 }, (_, index) => `x-${index}`).join()]] },
    ],
    'with a very long head': ['head', { headers: [...control('max-age=9'), ['x-long', 'x'.repeat(70_000)]] }],
    'without a lifetime or a validator': ['no-lifetime', { headers: [] }],
    'that was stale when it came and cannot be validated': ['no-lifetime', { headers: [...control('max-age=9'), ['age', '9']] }],
    'that nginx is told not to keep': ['no-lifetime', { headers: [...control('max-age=9'), ['x-accel-expires', '0']] }],
    'to a cookie, when its lifetime would be a guess': [
      'cookies',
      { headers: [['last-modified', OLD]], request: [['cookie', 'a=1']] },
    ],
    'to a cookie, when it could only be validated': ['cookies', { headers: [['etag', 'W/"1"']], request: [['cookie', 'a=1']] }],
    'to a cookie, when it is stale at once': [
      'cookies',
      { headers: [...control('max-age=0'), ['etag', '"1"']], request: [['cookie', 'a=1']] },
    ],
    'whose rule says no time': ['no-lifetime', { ruleSeconds: 0 }],
  }
  for (const [name, [reason, given]] of Object.entries(cases)) test(name, () => assert.equal(refused(given), reason))
})

describe('a response is kept', () => {
  const cases: Readonly<Record<string, Case>> = {
    'to credentials when it is public': { headers: control('public, max-age=9'), request: [['authorization', 'x']] },
    'to credentials when it must be revalidated': {
      headers: control('max-age=9, must-revalidate'),
      request: [['authorization', 'x']],
    },
    'to credentials when shared caches are addressed': { headers: control('s-maxage=9'), request: [['authorization', 'x']] },
    'to a cookie when it says for how long': { headers: control('max-age=9'), request: [['cookie', 'a=1']] },
    'to a cookie when a rule says for how long': { headers: [], ruleSeconds: 9, request: [['cookie', 'a=1']] },
    'to a cookie when others have another one': {
      headers: [
        ['etag', '"1"'],
        ['vary', 'Cookie'],
      ],
      request: [['cookie', 'a=1']],
    },
    'to a cookie when it is public': { headers: [...control('public'), ['etag', '"1"']], request: [['cookie', 'a=1']] },
    'to a cookie when it is never used unasked': {
      headers: [...control('no-cache'), ['etag', '"1"']],
      request: [['cookie', 'a=1']],
    },
    'with an unknown status': { status: 299, headers: control('max-age=9') },
    'with an error that says for how long': { status: 500, headers: control('max-age=9') },
    'though it says no-store, when its status is understood': { headers: control('no-store, must-understand, max-age=9') },
    'for validation alone': { headers: [...control('no-cache'), ['etag', '"1"']] },
    'for when its upstream is down': { headers: control('max-age=0, stale-if-error=60') },
  }
  for (const [name, given] of Object.entries(cases)) test(name, () => assert.ok(kept(given)))
})

describe('the lifetime of a response', () => {
  const cases: Readonly<Record<string, readonly [number, Case]>> = {
    'is what shared caches are told': [7_000, { headers: control('max-age=9, s-maxage=7') }],
    'is what all caches are told': [9_000, { headers: [...control('max-age=9'), ['expires', formatHttpDate(NOW + 1e6)]] }],
    'is what this kind of cache is told': [5_000, { headers: [...control('max-age=9'), ['cdn-cache-control', 'max-age=5']] }],
    'is not taken from a malformed field for this kind of cache': [
      9_000,
      { headers: [...control('max-age=9'), ['cdn-cache-control', 'max-age=5,']] },
    ],
    'ends at Expires, counted from Date': [
      4_000,
      {
        headers: [
          ['date', formatHttpDate(NOW - 1000)],
          ['expires', formatHttpDate(NOW + 3000)],
        ],
      },
    ],
    'is that of the rule where the response is silent': [3_000, { ruleSeconds: 3 }],
    'is not that of the rule where the response speaks': [9_000, { headers: control('max-age=9'), ruleSeconds: 3 }],
    'is a tenth of its age where nothing sets it': [
      3_600_000,
      { headers: [['last-modified', formatHttpDate(NOW - 36_000_000)]] },
    ],
    'is guessed as a day at most': [86_400_000, { headers: [['last-modified', OLD.replace('2025', '2015')]] }],
    'is bounded, whatever nginx is told': [2 ** 31 * 1000, { headers: [['x-accel-expires', '9'.repeat(400)]] }],
    'is named by nginx': [60_000, { headers: [...control('max-age=9'), ['x-accel-expires', '60']] }],
    'is nothing for a response that must be asked about': [0, { headers: [...control('no-cache, max-age=9'), ['etag', '"1"']] }],
  }
  for (const [name, [ms, given]] of Object.entries(cases)) test(name, () => assert.equal(kept(given).ttlMs, ms))

  test('is not guessed for statuses that are not for that', () => {
    assert.equal(kept({ status: 403, headers: [['last-modified', OLD]] }).ttlMs, 0)
    assert.ok(kept({ status: 599, headers: [...control('public'), ['last-modified', OLD]] }).ttlMs > 0)
  })
})

describe('the age of a response', () => {
  const age = (given: Case) => NOW - kept({ ...given, headers: [...control('max-age=99'), ...(given.headers ?? [])] }).createdAt
  test('is what it says, and how long it took', () => assert.equal(age({ headers: [['age', '10']], delayMs: 2_500 }), 12_500))
  test('is no less than its date shows', () => {
    assert.equal(
      age({
        headers: [
          ['date', formatHttpDate(NOW - 20_000)],
          ['age', '3'],
        ],
      }),
      19_001,
    )
  })
  test('is nothing for one that was just made', () => assert.equal(age({ headers: [['date', formatHttpDate(NOW)]] }), 0))
  test('makes it stale when it cannot be read', () => {
    for (const value of ['abc', '-1', '1.0', '0, 0']) {
      const made = kept({ headers: [...control('max-age=99'), ['etag', '"1"'], ['age', value]] })
      assert.deepEqual([made.ttlMs, made.createdAt], [0, NOW], value)
    }
  })
})

test('use of stale responses', () => {
  const swr = (value: string) => kept({ headers: control(value) }).swrMs
  assert.equal(swr('max-age=9, stale-while-revalidate=30'), 30_000)
  for (const strict of ['must-revalidate', 'proxy-revalidate', 's-maxage=9']) {
    assert.equal(swr(`max-age=9, stale-while-revalidate=30, ${strict}`), 0, strict)
  }
})

test('fields of the connection and of proxies are not kept', () => {
  const headers: HeaderList = [
    ...control('max-age=9'),
    ['age', '1'],
    ['proxy-authenticate', 'x'],
    ['keep-alive', 'x'],
    ['a', '1'],
  ]
  assert.deepEqual(kept({ headers }).headers, [...control('max-age=9'), ['a', '1']])
})

test('fields that are ignored are kept and do not count', () => {
  const headers: HeaderList = [...control('private, max-age=9'), ['Set-Cookie', 'a=b'], ['Expires', '0'], ['Vary', '*']]
  assert.equal(refused({ headers, ruleSeconds: 60 }), 'private')
  const ignored = ['cache-control', 'expires', 'vary']
  assert.equal(refused({ headers, ruleSeconds: 60, ignored }), 'set-cookie')
  const { ttlMs, vary, headers: fields } = kept({ headers, ruleSeconds: 60, ignored: [...ignored, 'set-cookie'] })
  assert.deepEqual([ttlMs, vary, fields], [60_000, [], headers])
  assert.equal(
    refused({
      headers: [
        ['x-accel-expires', '0'],
        ['expires', 'x'],
      ],
      ruleSeconds: 60,
    }),
    'no-lifetime',
  )
  assert.equal(kept({ headers: [['x-accel-expires', '0']], ruleSeconds: 60, ignored: ['x-accel-expires'] }).ttlMs, 60_000)
})
