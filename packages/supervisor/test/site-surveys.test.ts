import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SiteSurvey } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { SiteSurveys } from '../src/master/site-surveys.ts'

const found = (texts: readonly string[], hasStaticParams = false): SiteSurvey => ({
  routes: [],
  problems: texts.map((text) => ({ severity: 'error', text })),
  hasStaticParams,
})

function make(ask: (site: string) => Promise<SiteSurvey>, isAway: (site: string) => boolean = () => false) {
  const lines: string[] = []
  const warmed: string[] = []
  const write = ({ site }: { site: string }, text: string) => lines.push(`${site} ${text}`)
  const logger = { error: write, warn: write } as unknown as Logger
  return { lines, warmed, surveys: new SiteSurveys({ ask, isAway, warm: (site) => warmed.push(site), logger }) }
}

test('each problem of a site is logged once, and again when it comes back', async () => {
  let texts = ['one', 'two']
  const { surveys, lines } = make(async () => found(texts))
  const look = async (...next: string[]) => {
    texts = next
    await surveys.survey('a')
    return lines.splice(0)
  }
  assert.deepEqual(await look('one', 'two'), ['a one', 'a two'])
  assert.deepEqual(await look('one', 'two'), [])
  assert.deepEqual(await look('two', 'three'), ['a three'])
  assert.deepEqual(await look('one'), ['a one'])
})

test('a site with endless problems does not flood the log', async () => {
  let count = 0
  const { surveys, lines } = make(async () => found(Array.from({ length: 60 }, () => `problem ${count++}`)))
  for (let i = 0; i < 100; i++) await surveys.survey('a')
  assert.equal(lines.length, 200 + 4)
  assert.match(lines.at(-1) ?? '', /more problems of the site are not logged: "svc routes a" lists them/)
  assert.ok(surveys.problemCount('a') > 0)
  assert.equal(surveys.problemCount('b'), 0)
})

test('sites in line are looked at a few at a time; one that cannot be holds up no other, and pages known in advance are rendered', async () => {
  const done = Promise.withResolvers<void>()
  const blocked = Promise.withResolvers<void>()
  const asked: string[] = []
  const { surveys, lines, warmed } = make(async (site) => {
    asked.push(site)
    if (site === 'slow') await blocked.promise
    if (site === 'broken') throw new Error('no host')
    if (site === 'last') done.resolve()
    return found([], site === 'params')
  })
  for (const site of ['slow', 'broken', 'params', 'params', 'last']) surveys.add(site)
  await done.promise
  blocked.resolve()
  assert.deepEqual(asked, ['slow', 'broken', 'params', 'last'])
  assert.deepEqual(warmed, ['params'])
  assert.deepEqual(lines, ['broken failed to survey the directory of a site; its next change or request retries'])
})

test('a site whose unit is away is not surveyed; a survey that its end breaks off is not logged', async () => {
  let isAway = true
  const asked: string[] = []
  const { surveys, lines } = make(
    async (site) => {
      asked.push(site)
      isAway = site === 'ending'
      if (isAway) throw Object.assign(new Error('the unit has ended'), { code: 'CORE_PEER_GONE' })
      return found(['one'])
    },
    () => isAway,
  )
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  surveys.add('a')
  await turn()
  assert.deepEqual([asked, lines], [[], []])
  isAway = false
  surveys.add('a')
  await turn()
  assert.deepEqual([asked, lines], [['a'], ['a one']])
  surveys.add('ending')
  await turn()
  assert.deepEqual([asked, lines], [['a', 'ending'], ['a one']])
})
