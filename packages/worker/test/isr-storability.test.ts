import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_ENTRY_TAGS } from '@svc/cache'
import type { ResponseHead } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import type { PageAddress } from '../src/isr/page-address.ts'
import { type Storability, storabilityOf } from '../src/isr/page-entries.ts'
import { facts } from './isr-instance.ts'

/** A response as the tests write it. */
interface Rendered extends ResponseHead {
  readonly facts: CacheFacts | undefined
}

const address: PageAddress = {
  label: 'shop',
  path: '/a',
  query: '',
  origin: 'http://shop.test',
  hostname: 'shop.test',
  binding: 'own',
  kind: 'page',
  pattern: '/a',
}
const defaults = { ttlMs: 60_000, swrMs: 3_600_000 }

function judge(rendered: Partial<Rendered>, at: Partial<PageAddress> = {}, lifetime = defaults): Storability {
  const { facts: known, ...head } = { status: 200, headers: [], facts: facts(), ...rendered }
  return storabilityOf({ head, facts: known }, { ...address, ...at }, lifetime)
}

const nothing = { query: false, host: false }

test('a page lives as long as it says, or as the configuration says', () => {
  assert.deepEqual(judge({}), { verdict: 'store', ttlMs: 60_000, swrMs: 3_600_000, reads: nothing })
  assert.deepEqual(judge({ facts: facts([], 5) }), { verdict: 'store', ttlMs: 5_000, swrMs: 3_600_000, reads: nothing })
  assert.deepEqual(judge({ facts: facts([], false) }), { verdict: 'store', ttlMs: null, swrMs: 3_600_000, reads: nothing })
  assert.deepEqual(judge({ facts: facts([], 0) }), { verdict: 'pass', detail: 'revalidate' })
  assert.deepEqual(judge({}, {}, { ttlMs: 0, swrMs: 0 }), {
    verdict: 'pass',
    detail: 'revalidate',
  })
})

test('a page is shared according to the parts of the request that it reads', () => {
  for (const read of ['cookies', 'headers', 'no-store']) {
    assert.deepEqual(judge({ facts: facts([read, 'query']) }), { verdict: 'pass', detail: read })
  }
  const query = judge({ facts: facts(['query']) })
  assert.ok(query.verdict === 'store')
  assert.deepEqual(query.reads, { query: true, host: false })
})

test('a response that read the host is stored only for hosts that the site claims', () => {
  const read = { facts: facts(['host']) }
  assert.equal(judge(read).verdict, 'store')
  assert.equal(judge(read, { binding: 'open' }).verdict, 'store')
  assert.deepEqual(judge(read, { binding: 'unknown' }), { verdict: 'pass', detail: 'host' })
  assert.equal(judge({}, { binding: 'unknown' }).verdict, 'store')
})

test('handlers are stored only when they say for how long', () => {
  assert.deepEqual(judge({}, { kind: 'handler' }), { verdict: 'pass', detail: 'revalidate' })
  assert.equal(judge({ facts: facts([], 10) }, { kind: 'handler' }).verdict, 'store')
  assert.equal(judge({ facts: facts([], false) }, { kind: 'handler' }).verdict, 'store')
  assert.equal(judge({}, { kind: 'metadata' }).verdict, 'store')
})

test('the head of a response may forbid to store it', () => {
  const cases: [string, Rendered['headers']][] = [
    ['set-cookie', [['Set-Cookie', 'a=b']]],
    ['vary', [['Vary', 'Accept-Encoding, Cookie']]],
    ['vary', [['vary', '*']]],
    ['cache-control', [['Cache-Control', 'private, max-age=5']]],
    ['cache-control', [['cache-control', 'no-store']]],
    ['cache-control', [['cache-control', 'no-cache']]],
  ]
  for (const [detail, headers] of cases) assert.deepEqual(judge({ headers }), { verdict: 'pass', detail })
  assert.equal(judge({ headers: [['vary', 'Accept-Encoding']] }).verdict, 'store')
  assert.equal(judge({ headers: [['cache-control', 'public, max-age=600']] }).verdict, 'store')
})

test('failures are not stored, and say nothing of the next render', () => {
  assert.deepEqual(judge({ status: 500 }), { verdict: 'failed', detail: 'status', isCommon: true })
  assert.deepEqual(judge({ status: 503, facts: facts(['cookies']) }), { verdict: 'failed', detail: 'status', isCommon: false })
  assert.deepEqual(judge({ status: 500, facts: undefined }), { verdict: 'failed', detail: 'status', isCommon: false })
})

test('refusals belong to their client, redirects and missing pages to all', () => {
  for (const status of [401, 403, 405, 206, 304]) assert.deepEqual(judge({ status }), { verdict: 'pass', detail: 'status' })
  for (const status of [200, 204, 301, 302, 303, 307, 308, 404, 410]) assert.equal(judge({ status }).verdict, 'store')
})

test('a page with more tags than a purge could find is not stored', () => {
  const tags = Array.from({ length: MAX_ENTRY_TAGS + 1 }, (_, index) => `tag ${index}`)
  assert.equal(judge({ facts: facts([], 60, tags.slice(1)) }).verdict, 'store')
  assert.deepEqual(judge({ facts: facts([], 60, tags) }), { verdict: 'pass', detail: 'tags' })
})

test('without facts nothing is stored', () => {
  assert.deepEqual(judge({ facts: undefined }), { verdict: 'pass', detail: 'facts' })
})
