import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessEntry,
  AccessLog,
  type ByteSink,
  createAccessFormatter,
  type HitEntry,
  LineQueue,
  serverLog,
} from '../src/index.ts'

const ID = /"request_id":"([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"/

const entry: HitEntry = {
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  requestId: undefined,
  site: 'shop',
  method: 'GET',
  path: '/a?token=secret',
  status: 200,
  bytes: 12,
  durationMs: 1.23456,
  client: '192.0.2.1',
  userAgent: 'curl/8',
  referrer: '',
  httpVersion: '1.1',
}

function startLog(format: 'json' | 'combined' = 'json', prefix = '') {
  const written: Buffer[] = []
  const sink: ByteSink = {
    maxBytes: 64 * 1024,
    write: (bytes, done) => {
      written.push(Buffer.from(bytes))
      done(null, bytes.byteLength)
    },
    close: () => undefined,
  }
  const queue = new LineQueue({ sink })
  const log = new AccessLog({ format, output: queue, prefix })
  const lines = async () => {
    await queue.close(60_000)
    return Buffer.concat(written).toString().split('\n').slice(0, -1)
  }
  return { log, queue, lines }
}

/** The same line as any other request gets. */
function expected(hit: HitEntry, requestId: string): string {
  const full: AccessEntry = { ...hit, requestId, cache: 'l0-hit' }
  return createAccessFormatter('json')(full).slice(0, -1)
}

test('a hit has the line that any other request has, with a request id of its own', async () => {
  const durations = [0, 0.0004, 0.001, 0.012, 0.1, 0.12, 1, 9.9995, 10, 99.999, 100.5, 1234.567, 98_765.4, 2e9, 3e12]
  const texts = [
    '',
    'a',
    'a"b',
    'a\\b',
    'tab\t',
    'ÿ\u0085',
    '\u2028',
    'grüße',
    'x'.repeat(511),
    'x'.repeat(600),
    '\u0001'.repeat(512),
  ]
  const hits: HitEntry[] = [
    ...durations.map((durationMs) => ({ ...entry, durationMs })),
    ...texts.map((userAgent) => ({ ...entry, userAgent })),
    ...texts.map((text) => ({ ...entry, path: `/${text}` })),
    ...['::1', '2001:db8::1', 'unknown', 'a"b', 'ü', '', 'x'.repeat(80)].map((client) => ({ ...entry, client })),
    // The same path with other values: nothing of the line before is left.
    { ...entry, status: 304, bytes: 0 },
    { ...entry, method: 'HEAD', bytes: 0 },
    { ...entry, site: 'other' },
    { ...entry, startedAt: entry.startedAt + 1.5 },
    entry,
    ...Array.from({ length: 600 }, (_, i) => ({ ...entry, path: `/p/${i}`, userAgent: `agent ${i}` })),
  ]
  const { log, lines } = startLog()
  for (const hit of hits) log.hit(hit, serverLog)
  const ids = new Set<string>()
  for (const [i, line] of (await lines()).entries()) {
    const [, id = ''] = ID.exec(line) ?? []
    ids.add(id)
    assert.equal(line, expected(hits[i] as HitEntry, id))
  }
  assert.equal(ids.size, hits.length)
})

test('a hit keeps the id that it has, and ids of its trace', async () => {
  const { log, lines } = startLog()
  const trace = { traceId: 't', spanId: 's' }
  log.hit({ ...entry, requestId: 'given' }, serverLog)
  log.hit({ ...entry, trace }, serverLog)
  const [given = '', traced = ''] = await lines()
  assert.equal(given, expected(entry, 'given'))
  assert.match(traced, /"trace_id":"t","span_id":"s"\}$/)
})

test('lines of hits and of other requests keep their order, and each begins with the prefix', async () => {
  const { log, lines } = startLog('json', '<6>')
  for (let i = 0; i < 1000; i++) {
    const line = { ...entry, path: `/${i}` }
    if (i % 3 === 0) log.write({ ...line, requestId: 'r', cache: '' })
    else log.hit(line, serverLog)
  }
  const paths = (await lines()).map((line) => {
    assert.ok(line.startsWith('<6>{'))
    return JSON.parse(line.slice(3)).path
  })
  assert.deepEqual(
    paths,
    Array.from({ length: 1000 }, (_, i) => `/${i}`),
  )
})

test('hits for other logs, and in other formats, have the lines of these', async () => {
  const sent: string[] = []
  const json = startLog()
  const log = new AccessLog({ format: 'json', output: json.queue, sendTo: (path, line) => sent.push(`${path} ${line}`) })
  log.hit(entry, ['', '/var/log/a.log'])
  assert.equal((await json.lines()).length, 1)
  assert.match(sent.join(), /^\/var\/log\/a\.log 192\.0\.2\.1 - - /)
  const combined = startLog('combined')
  combined.log.hit(entry, serverLog)
  assert.match((await combined.lines()).join(), /^192\.0\.2\.1 - - /)
})

test('hits that a slow reader has no room for are counted as dropped', async () => {
  const queue = new LineQueue({
    sink: { maxBytes: 100, write: () => undefined, close: () => undefined },
    maxBufferedBytes: 10_000,
  })
  const log = new AccessLog({ format: 'json', output: queue })
  for (let i = 0; i < 100; i++) log.hit(entry, serverLog)
  assert.ok(queue.droppedLines > 40 && queue.droppedLines < 100, `dropped ${queue.droppedLines}`)
})
