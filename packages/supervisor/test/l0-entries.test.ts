import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { L0List, L0Response } from '@svc/protocol'
import { mergePages } from '../src/master/l0-entries.ts'

const response = (digest: string, hits = 1, storedAt = 0): L0Response => ({
  digest,
  key: digest,
  label: 'shop',
  host: 'a.test',
  path: '/',
  query: '',
  tags: [],
  status: 200,
  bytes: storedAt,
  storedAt,
  freshUntil: null,
  hits,
})

const digests = (count: number, step: number) => Array.from({ length: count }, (_, i) => String(i * step).padStart(6, '0'))

/** A page as a worker makes it. */
function pageOf(all: readonly string[], after: string, limit: number): L0List {
  const rest = all.filter((digest) => digest > after)
  const entries = rest.slice(0, limit).map((digest) => response(digest))
  return rest.length > limit ? { entries, until: entries.at(-1)?.digest } : { entries }
}

test('pages of several workers become one listing with each key once and its hits summed', () => {
  const workers = [digests(500, 2), digests(300, 3), [], digests(5, 100), digests(2_000, 1).slice(1_500)]
  // A worker may send fewer than it was asked for.
  for (const limits of [
    [10, 10, 10, 10, 10],
    [10, 3, 1, 2, 7],
    [5_000, 5_000, 5_000, 5_000, 5_000],
  ]) {
    const seen = new Map<string, number>()
    let after = ''
    for (let pages = 0; ; pages++) {
      const limit = Math.max(...limits)
      const page = mergePages(
        workers.map((all, index) => pageOf(all, after, limits[index] ?? 1)),
        limit,
      )
      assert.ok(page.entries.length <= limit && pages < 2_000)
      for (const { digest, hits } of page.entries) {
        assert.ok(digest > after && !seen.has(digest), digest)
        seen.set(digest, hits)
      }
      if (page.cursor === null) break
      assert.ok(page.cursor > after)
      after = page.cursor
    }
    assert.deepEqual([...seen.keys()], [...new Set(workers.flat())].sort())
    for (const [digest, hits] of seen) assert.equal(hits, workers.filter((all) => all.includes(digest)).length)
  }
})

test('the facts are those of the copy that was stored last', () => {
  const pages = [{ entries: [response('a', 2, 10)] }, { entries: [response('a', 3, 30)] }, { entries: [response('a', 4, 20)] }]
  const [{ hits, storedAt } = response('none'), ...others] = mergePages(pages, 10).entries
  assert.deepEqual([hits, storedAt, others.length], [9, 30, 0])
  assert.deepEqual(mergePages([], 10), { entries: [], cursor: null })
})
