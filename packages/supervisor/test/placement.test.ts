import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAbort, isQuarantine, nothingApart, type Placement, release } from '../src/fleet/placement.ts'

const groupsOf = (placement: Placement) => placement.groups.map(({ sites }) => sites)

function aborts(...list: readonly (readonly [at: number, place: string, sites: readonly string[]])[]): Placement {
  return list.reduce((placement, [at, place, sites]) => afterAbort(placement, { at, place, sites }), nothingApart)
}

test('one abort, or two more than a minute apart, or with no site in common, make no site a suspect', () => {
  assert.deepEqual(groupsOf(aborts([0, 'shared-1', ['a', 'b']])), [])
  assert.deepEqual(groupsOf(aborts([0, 'shared-1', ['a']], [60_001, 'shared-1', ['a']])), [])
  assert.deepEqual(groupsOf(aborts([0, 'shared-1', ['a']], [10, 'shared-1', ['b']])), [])
  assert.deepEqual(groupsOf(aborts([0, 'shared-1', []], [10, 'shared-1', []])), [])
})

test('a single site in flight at two aborts is set apart for itself', () => {
  const placement = aborts([0, 'shared-1', ['a', 'b']], [10, 'shared-2', ['b', 'c']])
  assert.deepEqual(groupsOf(placement), [['b']])
  assert.ok(placement.groups.every(isQuarantine))
})

test('several suspects are halved until one remains, and the others return', () => {
  const sites = ['a', 'b', 'c', 'd', 'e']
  let placement = aborts([0, 'shared-1', sites], [10, 'shared-1', sites])
  assert.deepEqual(groupsOf(placement), [
    ['a', 'b', 'c'],
    ['d', 'e'],
  ])
  const guilty = () => placement.groups.find((group) => group.sites.includes('b'))?.name ?? ''
  placement = afterAbort(placement, { at: 20, place: guilty(), sites: [] })
  assert.deepEqual(groupsOf(placement), [['a', 'b'], ['c']])
  placement = afterAbort(placement, { at: 30, place: guilty(), sites: ['a', 'b'] })
  assert.deepEqual(groupsOf(placement).sort(), [['a'], ['b'], ['c']])
})

test('renders in flight narrow a group down at once', () => {
  let placement = aborts([0, 'shared-1', ['a', 'b', 'c', 'd']], [10, 'shared-1', ['a', 'b', 'c', 'd']])
  placement = afterAbort(placement, { at: 20, place: placement.groups[0]?.name ?? '', sites: ['b'] })
  assert.deepEqual(groupsOf(placement), [['b']])
})

test('a group is released after ten quiet minutes, and when its sites are removed', () => {
  const placement = aborts([0, 'shared-1', ['a']], [10, 'shared-1', ['a']])
  assert.deepEqual(groupsOf(release(placement, 600_009, ['a'])), [['a']])
  assert.deepEqual(groupsOf(release(placement, 600_010, ['a'])), [])
  assert.deepEqual(groupsOf(release(placement, 20, ['z'])), [])
  const again = afterAbort(placement, { at: 500_000, place: placement.groups[0]?.name ?? '', sites: ['a'] })
  assert.deepEqual(groupsOf(release(again, 600_010, ['a'])), [['a']])
})
