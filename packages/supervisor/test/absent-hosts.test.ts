import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextStartAt, type Slot } from '../../processes/src/child/slot.ts'
import { endpointsOf, makePlace } from '../src/fleet/places.ts'
import { siteStatuses } from '../src/master/status.ts'

test('a place without a host is named, with the time at which a host may fill it', () => {
  const held = { ...makePlace('apart-1', ['shop']), heldUntil: 2_000 }
  const endpoints = endpointsOf([makePlace('shared-1', '*'), held], '/run', 1_000)
  assert.deepEqual(endpoints, [
    { id: 'shared-1', socket: '/run/shared-1.absent', token: '', sites: '*', startsAt: 1_000 },
    { id: 'apart-1', socket: '/run/apart-1.absent', token: '', sites: ['shop'], startsAt: 2_000 },
  ])
})

test('the next start is known only while every slot backs off', () => {
  const slots = (...states: Slot<never>['state'][]) => states.map((state, i) => ({ state, retryAt: 1_000 * (i + 1) }))
  assert.equal(nextStartAt([]), 0)
  assert.equal(nextStartAt(slots('backing-off', 'backing-off')), 1_000)
  for (const state of ['starting', 'ready'] as const) assert.equal(nextStartAt(slots('backing-off', state)), 0)
})

test('a site whose shared hosts are all absent is degraded', () => {
  const site = { id: 'shop', label: 'shop', hostnames: ['shop.test'], root: '/', process: 'in-process', maintenance: false }
  const stateOf = (host: object) =>
    siteStatuses([site as never], [{ id: 'a', socket: '/a', sites: '*', ...host } as never], [])[0]?.state
  assert.equal(stateOf({ token: '' }), 'degraded')
  assert.equal(stateOf({ token: 'x' }), 'ok')
})
