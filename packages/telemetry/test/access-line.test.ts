import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccessEntry, type AccessFormat, createAccessFormatter } from '../src/index.ts'

const entry: AccessEntry = {
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  requestId: 'r1',
  site: 'shop',
  method: 'GET',
  path: '/a"b?token=secret',
  status: 200,
  bytes: 12,
  durationMs: 1.23456,
  cache: 'l0-hit',
  client: '192.0.2.1',
  userAgent: 'curl/8\n"x"',
  referrer: 'https://user:word@news.test/story?token=secret',
  httpVersion: '2',
}

/** The pattern of combined lines in the documentation of Logstash (COMBINEDAPACHELOG), with its parts spelled out. */
const COMBINED =
  /^(?<client>\S+) (?<ident>\S+) (?<user>\S+) \[(?<time>\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "(?:(?<verb>\w+) (?<request>\S+)(?: HTTP\/(?<version>\d+(?:\.\d+)?))?|(?<raw>.*?))" (?<status>\d{3}) (?<bytes>\d+|-)(?: (?<referrer>"(?:[^"\\]|\\.)*") (?<agent>"(?:[^"\\]|\\.)*"))?$/

function line(format: AccessFormat, changes: Partial<AccessEntry> = {}): string {
  const text = createAccessFormatter(format)({ ...entry, ...changes })
  assert.ok(text.endsWith('\n'))
  return text.slice(0, -1)
}

test('a JSON line carries every field, escapes what clients send and leaves the query out', () => {
  assert.deepEqual(JSON.parse(line('json')), {
    time: '2026-01-02T03:04:05.678Z',
    request_id: 'r1',
    site: 'shop',
    method: 'GET',
    path: '/a"b',
    status: 200,
    bytes: 12,
    duration_ms: 1.235,
    cache: 'l0-hit',
    client: '192.0.2.1',
    user_agent: 'curl/8\n"x"',
  })
})

test('a line for a person is short, and control characters in it are escaped', () => {
  assert.equal(line('pretty'), '03:04:05.678 192.0.2.1 GET /a\\"b 200 12B 1.2ms l0-hit shop')
})

test('a combined line is read by the pattern of other tools; query and path of the referrer are left out', () => {
  const parts = COMBINED.exec(line('combined'))?.groups
  assert.deepEqual(
    { ...parts, time: undefined },
    {
      client: '192.0.2.1',
      ident: '-',
      user: '-',
      time: undefined,
      verb: 'GET',
      request: '/a\\x22b',
      version: '2.0',
      raw: undefined,
      status: '200',
      bytes: '12',
      referrer: '"https://news.test"',
      agent: '"curl/8\\x0A\\x22x\\x22"',
    },
  )
  const [day = '', month = '', rest = ''] = parts?.['time']?.split('/') ?? []
  const [year, clock = ''] = [rest.slice(0, 4), rest.slice(5)]
  assert.equal(Date.parse(`${day} ${month} ${year} ${clock}`), Date.UTC(2026, 0, 2, 3, 4, 5))
})

test('a common line ends with the size', () => {
  assert.match(line('common', { httpVersion: '1.1' }), /^192\.0\.2\.1 - - \[[^\]]+\] "GET \/a\\x22b HTTP\/1\.1" 200 12$/)
})

test('fields that are missing are dashes', () => {
  assert.match(line('combined', { referrer: '', userAgent: '' }), / 200 12 "-" "-"$/)
  assert.match(line('combined', { referrer: 'no origin' }), / 200 12 "-" "curl/)
})

test('no byte that a client sends ends a line, ends a field or steers a terminal, in any format', () => {
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('')
  const hostile = `${bytes}\u2028\u{1f600}`
  for (const format of ['json', 'pretty', 'common', 'combined'] as const) {
    const text = line(format, { method: hostile, path: hostile, client: hostile, userAgent: hostile, referrer: `x://${hostile}` })
    assert.doesNotMatch(text, /[\p{Cc}\u2028]/u, format)
    if (format === 'json') assert.equal(JSON.parse(text).user_agent, hostile)
    if (format === 'combined') assert.equal(text.split('"').length, 7, 'three fields in quotes')
  }
})

test('values that are too long are cut, and a character beyond a byte is written as its bytes in UTF-8', () => {
  assert.ok(line('combined', { userAgent: '\u0000'.repeat(10_000) }).endsWith(`"${'\\x00'.repeat(512)}"`))
  assert.ok(line('combined', { userAgent: '\u20ac' }).endsWith('"\\xE2\\x82\\xAC"'))
  assert.ok(line('combined', { userAgent: '\u00e9' }).endsWith('"\\xE9"'))
})
