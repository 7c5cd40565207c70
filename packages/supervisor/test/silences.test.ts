import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLogger } from '@svc/telemetry'
import { ManualClock, tempDir } from '@svc/testkit'
import { Alerts } from '../src/alerts/alerts.ts'
import type { Rule } from '../src/alerts/rule.ts'
import { Silences } from '../src/alerts/silences.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const order = { name: 'a', site: 'shop', subject: 's', reason: 'known', username: 'alice' }

/** Alerts with one rule that fires, and their silences. */
async function bench(t: TestContext) {
  const stateDir = tempDir(t)
  const clock = new ManualClock()
  const lines: string[] = []
  const logger = createLogger({
    level: 'info',
    format: 'json',
    base: {},
    destination: { write: (line) => void lines.push(line) },
  })
  const open = () => Silences.open({ stateDir, clock, logger })
  let silences = await open()
  const rule: Omit<Rule, 'readings'> = { source: 'built_in', name: 'a', condition: '', forMs: 0, unit: '', hint: 'act' }
  const judge = async (): Promise<Rule[]> => [{ ...rule, readings: [{ subject: 's', site: 'shop', value: 1, isTrue: true }] }]
  const alerts = new Alerts({ judge, silences: { of: (alert) => silences.of(alert) }, clock, logger })
  const until = (ms: number) => new Date(clock.now() + ms).toISOString()
  const look = async () => {
    await alerts.evaluate()
    const [alert] = alerts.report().alerts
    return [alert?.state, alert?.silence?.username]
  }
  const restart = async () => {
    silences = await open()
  }
  const logged = () => lines.splice(0).map((line) => JSON.parse(line).msg)
  return { stateDir, clock, logger, until, look, restart, logged, silences: () => silences }
}

test('a silenced alert fires without a line in the log, over a restart, and is announced at the end of the silence', async (t) => {
  const { clock, until, look, restart, logged, silences } = await bench(t)
  const made = await silences().set({ ...order, until: until(HOUR) })
  assert.deepEqual([await look(), logged()], [['firing', 'alice'], []])
  await restart()
  assert.deepEqual(silences().list(), [made])
  clock.advance(HOUR - 1)
  assert.deepEqual([await look(), logged()], [['firing', 'alice'], []])
  clock.advance(1)
  assert.deepEqual([await look(), logged()], [['firing', undefined], ['an alert fires']])
  assert.deepEqual(silences().list(), [])
})

test('a silence is replaced by another of the same alert, is about that one alone, and can be ended', async (t) => {
  const { until, look, logged, silences } = await bench(t)
  const first = await silences().set({ ...order, until: until(MINUTE) })
  const second = await silences().set({ ...order, until: until(HOUR), username: 'vera' })
  assert.equal(second.id, first.id)
  assert.deepEqual(silences().list(), [second])
  for (const other of [{ name: 'b' }, { site: null }, { subject: '' }])
    assert.equal(silences().of({ ...order, ...other }), undefined)
  assert.deepEqual(await look(), ['firing', 'vera'])
  assert.deepEqual([await silences().end('none'), await silences().end(first.id)], [false, true])
  assert.deepEqual([await look(), logged()], [['firing', undefined], ['an alert fires']])
})

test('a user makes at most a hundred silences, and ended ones leave room', async (t) => {
  const { clock, until, silences } = await bench(t)
  const set = (subject: string, username = 'alice') => silences().set({ ...order, subject, username, until: until(MINUTE) })
  for (let made = 0; made < 100; made++) await set(`s${made}`)
  await assert.rejects(set('more'), { code: 'SUP_SILENCE_LIMIT' })
  await set('s5')
  await set('more', 'vera')
  clock.advance(MINUTE)
  await set('more')
  assert.equal(silences().list().length, 1)
})

test('a damaged file is kept aside, and no alert is silenced', async (t) => {
  const { stateDir, until, look, restart, logged, silences } = await bench(t)
  await silences().set({ ...order, until: until(HOUR) })
  writeFileSync(join(stateDir, 'silences.json'), '[{"id": 1}]')
  await restart()
  assert.ok(existsSync(join(stateDir, 'silences.json.damaged')))
  assert.deepEqual(await look(), ['firing', undefined])
  assert.deepEqual(logged(), ['silences are unreadable: no alert is silenced', 'an alert fires'])
})
