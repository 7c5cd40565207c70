import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CacheControl, parseCacheControl } from '../src/index.ts'

const table: ReadonlyArray<readonly [field: string | undefined, part: Partial<CacheControl>]> = [
  [undefined, { noStore: false, maxAge: undefined, isPublic: false }],
  ['max-age=x', { maxAge: 0 }],
  ['max-age=-1', { maxAge: 0 }],
  ['max-age', { maxAge: 0 }],
  ['max-age=1.5', { maxAge: 0 }],
  ['max-age=99999999999999999999', { maxAge: 2 ** 31 }],
  ['max-age=60, max-age=3600', { maxAge: 60 }],
  ['Max-Age="60"', { maxAge: 60 }],
  ['private="set-cookie, x", max-age=5', { isPrivate: true, maxAge: 5 }],
  ['no-cache="a"', { noCache: true }],
  ['ext="no-store, \\" no-store"', { noStore: false }],
  [
    'no-store,no-transform , must-revalidate,proxy-revalidate',
    { noStore: true, noTransform: true, mustRevalidate: true, proxyRevalidate: true },
  ],
  [
    'public, max-age=0, s-maxage=41, stale-while-revalidate=9, stale-if-error=8',
    { isPublic: true, maxAge: 0, sMaxage: 41, staleWhileRevalidate: 9, staleIfError: 8 },
  ],
  ['max-stale, min-fresh=3, only-if-cached', { maxStale: Number.POSITIVE_INFINITY, minFresh: 3, onlyIfCached: true }],
  ['max-stale=4, immutable', { maxStale: 4, isImmutable: true }],
]
for (const [field, part] of table) {
  test(`parses ${field} (RFC 9111 section 5.2)`, () => {
    const parsed = parseCacheControl(field)
    for (const [name, value] of Object.entries(part)) assert.equal(parsed[name as keyof CacheControl], value, name)
  })
}
