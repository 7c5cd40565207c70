import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '@svc/telemetry'
import { ManualClock } from '@svc/testkit'
import { ShareNotices, type SiteUsage } from '../src/master/share-notices.ts'

function usage(label: string, entries: number, evictions: number, weight = 1): SiteUsage {
  const rest = { number: 1, queryEntries: 0, queryBytes: 0, newEntries: 0, newBytes: 0 }
  return { ...rest, label, weight, entries, bytes: entries * 10, evictions }
}

function setup() {
  const clock = new ManualClock(0)
  const said: string[] = []
  const logger = { warn: ({ label }: { label: string }) => said.push(label) } as unknown as Logger
  let usages: SiteUsage[] = []
  const bounds = { maxEntries: 100, maxBytes: 100_000 }
  const notices = new ShareNotices({ store: 'isr', usages: () => usages, bounds, clock, logger })
  const look = (...next: SiteUsage[]) => {
    usages = next
    notices.look()
    return said.splice(0)
  }
  return { clock, look }
}

test('a site that loses entries because others need room is named, once an hour', () => {
  const { clock, look } = setup()
  assert.deepEqual(look(usage('a', 90, 500), usage('b', 10, 0)), [], 'what was evicted before is not news')
  assert.deepEqual(look(usage('a', 90, 500), usage('b', 10, 0)), [])
  assert.deepEqual(look(usage('a', 90, 501), usage('b', 10, 3)), ['a'], 'b is within its share')
  assert.deepEqual(look(usage('a', 90, 502), usage('b', 10, 3)), [])
  clock.advance(3_600_000)
  assert.deepEqual(look(usage('a', 90, 503), usage('b', 10, 3)), ['a'])
})

test('a site that is alone fills the cache without a notice', () => {
  const { look } = setup()
  look(usage('a', 100, 0), usage('b', 0, 0))
  assert.deepEqual(look(usage('a', 100, 50), usage('b', 0, 9)), [])
})

test('a share counts by weight', () => {
  const { look } = setup()
  look(usage('a', 60, 0, 3), usage('b', 40, 0))
  assert.deepEqual(look(usage('a', 60, 5, 3), usage('b', 40, 5)), ['b'])
})
