import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WafRule } from '@svc/config'
import { RuleRates } from '../src/waf/rule-rates.ts'
import { WafEvents } from '../src/waf/waf-events.ts'

const ruleOf = (id: string, count: number, seconds: number): WafRule => ({
  id,
  action: 'block',
  when: { path: 'x' },
  rate: { count, window_secs: seconds },
})

function ratesOf(...rules: WafRule[]) {
  const state = { now: 1_000_000, rules: rules as readonly WafRule[] }
  const rates = new RuleRates(() => state.rules, { monotonic: () => state.now })
  return { state, rates }
}

test('in no window more matches of a client pass than the rate says, and soon after it they do again', () => {
  const { state, rates } = ratesOf(ruleOf('a', 3, 16))
  const passedAt: number[] = []
  for (let second = 0; second < 60; second++) {
    state.now = 1_000_000 + second * 1_000
    if (!rates.take('a', 'c').isOver) passedAt.push(second)
  }
  assert.deepEqual(passedAt, [0, 1, 2, 17, 18, 19, 34, 35, 36, 51, 52, 53])
  const { isOver, retryMs } = rates.take('a', 'c')
  assert.ok(isOver && retryMs > 0 && retryMs <= 17_000)
  assert.equal(rates.take('a', 'other').isOver, false)
})

test('the count of a changed rule restarts, others go on, and a rule that is gone counts nothing', () => {
  const { state, rates } = ratesOf(ruleOf('a', 1, 60), ruleOf('b', 1, 60))
  for (const id of ['a', 'b']) assert.deepEqual([rates.take(id, 'c').isOver, rates.take(id, 'c').isOver], [false, true])
  state.rules = [ruleOf('a', 2, 60), ruleOf('b', 1, 60)]
  assert.deepEqual([rates.take('a', 'c').isOver, rates.take('b', 'c').isOver], [false, true])
  state.rules = []
  assert.equal(rates.take('b', 'c').isOver, false)
})

test('clients that never send twice do not fill the memory, and do not free one that sends a lot', () => {
  const { rates } = ratesOf(ruleOf('a', 50, 60), ...Array.from({ length: 1_023 }, (_, n) => ruleOf(`r${n}`, 1, 60)))
  for (let n = 0; n < 50; n++) rates.take('a', 'busy')
  // Each of so many rules has room for 64 clients.
  for (let n = 0; n < 5_000; n++) rates.take('a', `client ${n}`)
  assert.equal(rates.take('a', 'busy').isOver, true)
})

const eventOf = (n: number, site: string) => {
  const action = n % 2 === 0 ? ('block' as const) : ('monitor' as const)
  return { at: '', request_id: `${n}`, rule: `r${n % 3}`, action, site, client: '', method: 'GET', path: '/' }
}

test('the last thousand events are kept, those of a quiet site too, and shown by pages', () => {
  const events = new WafEvents()
  events.add([eventOf(0, 'quiet')])
  for (let n = 1; n < 3_000; n++) events.add([eventOf(n, 'loud')])
  const pages = []
  let before: number | undefined
  do {
    const page = events.page({ limit: 300, before })
    pages.push(...page.events.map(({ request_id: id }) => Number(id)))
    before = page.cursor ?? undefined
  } while (before !== undefined)
  assert.equal(pages.length, 1_000)
  assert.deepEqual([pages[0], pages.at(-1)], [2_999, 0])
  assert.deepEqual(
    pages.toSorted((a, b) => b - a),
    pages,
  )
  assert.deepEqual(events.page({ limit: 9, sites: ['quiet'] }).events.length, 1)
  assert.ok(
    events
      .page({ limit: 9, rule: 'r1', action: 'block' })
      .events.every(({ rule, action }) => rule === 'r1' && action === 'block'),
  )
})
