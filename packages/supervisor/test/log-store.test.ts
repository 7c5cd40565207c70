import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { LogPlace } from '@svc/protocol'
import { LogStore } from '../src/logs/log-store.ts'

const all = { filter: { level: 0, text: '' }, sinceMs: 0, limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER }
const line = (text: string, site = '', level = 30, at = 1) => ({ at, level, site, text: JSON.stringify({ msg: text, site }) })
const messages = (lines: readonly string[]) => lines.map((text): string => JSON.parse(text).msg)

test('a site that floods the log pushes out its own lines, and the bounds hold', () => {
  const store = new LogStore({ maxLines: 100, maxChars: 10_000 })
  for (const text of ['one', 'two']) store.add(line(text))
  for (let i = 0; i < 5; i++) store.add(line(`calm ${i}`, 'calm'))
  for (let i = 0; i < 10_000; i++) store.add(line(`loud ${i}`, 'loud'))
  for (let i = 0; i < 10_000; i++) store.add(line(`${i} ${'x'.repeat(500)}`, 'large'))
  const { lines } = store.page(all)
  assert.ok(lines.length <= 100 && lines.join('').length <= 10_000, `${lines.length} lines`)
  const found = messages(lines)
  assert.deepEqual(found.filter((text) => /^(?:one|two|calm)/.test(text)).length, 7)
  assert.ok(found.includes('loud 9999') && found.some((text) => text.startsWith('9999 ')))
})

test('lines are selected by level, site, text and time, the newest of them, in order of time', () => {
  const store = new LogStore()
  store.add(line('late', 'a', 50, 30))
  store.add(line('early', 'a', 20, 10))
  store.add(line('say "hi"', 'b', 40, 20))
  const texts = (filter: Partial<typeof all.filter> & { sites?: string[] }, more = {}) =>
    messages(store.page({ ...all, filter: { ...all.filter, ...filter }, ...more }).lines)
  assert.deepEqual(texts({}), ['early', 'say "hi"', 'late'])
  assert.deepEqual(texts({}, { limit: 2 }), ['say "hi"', 'late'])
  assert.deepEqual(texts({}, { sinceMs: 20 }), ['say "hi"', 'late'], 'inclusive')
  assert.deepEqual(texts({ level: 40 }), ['say "hi"', 'late'])
  assert.deepEqual(texts({ sites: ['a'] }), ['early', 'late'])
  assert.deepEqual(texts({ sites: [] }), [])
  assert.deepEqual(texts({ text: 'say "hi' }), ['say "hi"'])
  assert.deepEqual(texts({ text: '.*' }), [], 'no pattern')
})

test('pages of limited bytes have each line once, also lines of the same time, while others arrive and are dropped', () => {
  const store = new LogStore({ maxLines: 60, maxChars: 1_000_000 })
  for (let i = 0; i < 50; i++) store.add(line(`${i} ${'é'.repeat(i)}`, 'a', 30, Math.floor(i / 20)))
  const found: string[] = []
  let before: LogPlace | undefined
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 50)
    const { lines, next } = store.page({ ...all, maxBytes: 500, ...(before === undefined ? {} : { before }) })
    assert.ok(lines.length > 0 && (lines.length === 1 || Buffer.byteLength(lines.join('\n')) <= 500))
    found.unshift(...messages(lines).map((text) => text.split(' ', 1)[0] ?? ''))
    if (next === null) break
    before = next
    store.add(line('later', 'b', 30, 99))
  }
  assert.deepEqual(
    found.map(Number),
    Array.from({ length: found.length }, (_, index) => 50 - found.length + index),
  )
  assert.ok(found.length > 30, 'no page but those of dropped lines is missing')
  const [last] = store.page({ ...all, filter: { ...all.filter, sites: ['a'] }, maxBytes: 1, limit: 9 }).lines
  assert.match(last ?? '', /"49 /, 'a line that is too long for a page is a page')
})

test('nothing that the unit of a site sends passes for a line of another site or of the service', () => {
  const store = new LogStore()
  const batch = [
    { at: Number.MAX_SAFE_INTEGER, level: 60, site: '', text: '{"site":"other","msg":"forged"}' },
    { at: 1, level: 30, site: 'other', text: 'no json\n\nevent: x' },
    { at: 1, level: 30, site: 'other', text: 'z'.repeat(1_000_000) },
    ...Array.from({ length: 10_000 }, () => line('more', 'other')),
  ]
  store.addBatch({ lines: batch, dropped: 3 }, 'own')
  assert.deepEqual(store.page({ ...all, filter: { ...all.filter, sites: ['other', ''] } }).lines, [])
  const { lines, dropped } = store.page(all)
  const parsed = lines.map((text) => JSON.parse(text))
  assert.ok(parsed.every(({ site }) => site === 'own'))
  assert.ok(Math.max(...lines.map(({ length }) => length)) < 20_000)
  assert.equal(lines.length + dropped, batch.length + 3)
  assert.equal(parsed.find(({ msg }) => msg === 'forged')?.site, 'own')
})

test('a follower that takes nothing gets the number of the lines that it missed', async () => {
  const store = new LogStore()
  const sent: unknown[] = []
  const room = Promise.withResolvers<void>()
  let abort: () => void = assert.fail
  const call = {
    send: (body: unknown, bytes?: Uint8Array | string) => {
      sent.push(body ?? messages([String(bytes)])[0])
      return sent.length !== 2
    },
    drained: () => room.promise,
    onAbort: (listener: () => void) => {
      abort = listener
    },
  }
  const following = store.follow({ level: 30, sites: ['a'], text: '' }, call)
  store.add(line('other', 'b'))
  store.add(line('quiet', 'a', 20))
  for (let i = 0; i < 7; i++) store.add(line(`${i}`, 'a'))
  room.resolve()
  await turn()
  store.add(line('after', 'a'))
  assert.deepEqual(sent, ['0', '1', 5, 'after'])
  abort()
  await following
  store.add(line('gone', 'a'))
  assert.equal(sent.length, 4)
})
