import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { isolatesOf } from '../src/master/actions.ts'
import type { MasterParts } from '../src/master/parts.ts'

const logger = createLogger({ level: 'fatal', format: 'json', base: {} })

/** A host that answers with these isolates; without any it does not answer. */
const hostWith = (id: string, isolates?: readonly object[]) => ({
  id,
  pid: 1,
  pools: [],
  site: { id: 'own' },
  peer: {
    call: async () => (isolates === undefined ? Promise.reject(new Error('busy')) : { isolates }),
  },
})

const isolate = { thread: 1, state: 'idle', startedAt: 0, lastBuildMs: 1, heapBytes: 1, requests: 1 }

test('isolates are listed with labels; a unit speaks for its own site alone, and its times harm nothing', async () => {
  const shared = hostWith('host-1', [
    { ...isolate, site: 'shop' },
    { ...isolate, site: 'gone' },
  ])
  const unit = hostWith('own-own-7-1', [
    { ...isolate, site: 'own', startedAt: 1e300 },
    { ...isolate, site: 'own', startedAt: -1e300 },
    { ...isolate, site: 'shop' },
  ])
  const silent = hostWith('host-2')
  const hosts = { running: [shared, unit, silent], own: { running: [unit] } }
  const sites = [
    { id: 'shop', label: 'Shop' },
    { id: 'own', label: 'Own' },
  ]
  const parts = { hosts, spec: () => ({ sites }), clock: { ...systemClock, now: () => 5_000 }, logger }
  const { isolates, missing } = await isolatesOf(parts as unknown as MasterParts, undefined)
  assert.deepEqual(
    isolates.map(({ host, site, label, started_at }) => [host, site, label, started_at]),
    [
      ['host-1', 'shop', 'Shop', '1970-01-01T00:00:00.000Z'],
      ['host-1', 'gone', 'gone', '1970-01-01T00:00:00.000Z'],
      ['own-own-7-1', 'own', 'Own', '1970-01-01T00:00:05.000Z'],
      ['own-own-7-1', 'own', 'Own', '1970-01-01T00:00:00.000Z'],
    ],
  )
  assert.deepEqual(missing, ['host-2'])
  await assert.rejects(isolatesOf(parts as unknown as MasterParts, ['nope']), { code: 'SUP_UNKNOWN_SITE' })
})
