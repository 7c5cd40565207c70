import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CacheStatus, cacheStatus } from '../src/index.ts'

const cases: ReadonlyArray<readonly [status: CacheStatus, text: string]> = [
  [{ cache: 'svc-l0', outcome: 'hit' }, 'svc-l0; hit'],
  [{ cache: 'svc-isr', outcome: 'hit', ttlSeconds: 41.9 }, 'svc-isr; hit; ttl=41'],
  [{ cache: 'svc-isr', outcome: 'hit', ttlSeconds: -3 }, 'svc-isr; hit; ttl=-3'],
  [{ cache: 'svc-isr', outcome: 'stale', isStored: true }, 'svc-isr; fwd=stale; stored'],
  [{ cache: 'svc-isr', outcome: 'uri-miss', isStored: true, isCollapsed: true }, 'svc-isr; fwd=uri-miss; stored; collapsed'],
  [{ cache: 'svc-isr', outcome: 'uri-miss', isStored: false, isCollapsed: false }, 'svc-isr; fwd=uri-miss'],
  [{ cache: 'svc-isr', outcome: 'bypass', detail: 'cookies' }, 'svc-isr; fwd=bypass; detail=cookies'],
  [{ cache: 'x', outcome: 'miss', detail: 'no "a"\r\nb\\' }, 'x; fwd=miss; detail="no \\"a\\"??b\\\\"'],
]

for (const [status, text] of cases) test(`writes ${text}`, () => assert.equal(cacheStatus(status), text))
