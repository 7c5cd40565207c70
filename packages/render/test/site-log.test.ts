import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogRate } from '@svc/guest'
import { PROCESS_WAIT_MS, tempSite, waitFor } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

interface Line {
  readonly site?: string
  readonly level: string
  readonly msg: string
  readonly dropped?: number
}

/** Whole lines of the host's log. */
function linesOf(host: HostProcess): Line[] {
  const whole = host.log.slice(0, host.log.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
}

function taken(rate: LogRate, now: number, tries: number, charCount = 1): number {
  let count = 0
  for (let i = 0; i < tries; i++) if (rate.take(charCount, now)) count++
  return count
}

test('lines come in a burst, then at a rate, and a clock that is set back gives none', () => {
  const rate = new LogRate(1_000)
  assert.equal(taken(rate, 1_000, 20_000), 5_000)
  assert.equal(taken(rate, 1_000, 10), 0)
  assert.equal(taken(rate, 2_000, 20_000), 500)
  assert.equal(taken(rate, 500, 10), 0)
  assert.equal(taken(rate, 1_500, 20_000), 500)
  assert.equal(taken(rate, 3_600_000, 20_000), 5_000)
})

test('long lines use up the rate too, but one that is longer than all of it still comes through', () => {
  const mib = 1024 * 1024
  const rate = new LogRate(0)
  assert.equal(taken(rate, 0, 100, mib), 8)
  assert.equal(taken(rate, 1_000, 100, mib), 1)
  const fresh = new LogRate(0)
  assert.equal(taken(fresh, 0, 2, 100 * mib), 1)
  assert.equal(taken(fresh, 1_000, 2, 1), 0)
})

test('the log of a site that logs endlessly is truncated, every line is counted, and other sites log as before', async (t) => {
  const logging = (count: number) => `export default function Page() {
  for (let i = 0; i < ${count}; i++) console.log('line of the flood')
  return <p>logged</p>
}`
  const sites = [
    { id: 'loud', root: tempSite(t, { 'app/page.tsx': logging(30_000) }) },
    { id: 'calm', root: tempSite(t, { 'app/page.tsx': logging(10) }) },
  ]
  const host = await HostProcess.start(t, { render: { timeout_ms: 20_000 }, sites })
  assert.match((await host.render('loud', '/')).text, /logged/)
  assert.match((await host.render('calm', '/')).text, /logged/)
  const written = (site: string) => linesOf(host).filter((line) => line.site === site && line.msg === 'line of the flood').length
  const dropped = () => linesOf(host).reduce((sum, line) => sum + (line.site === 'loud' ? (line.dropped ?? 0) : 0), 0)
  await waitFor('all lines', () => written('loud') + dropped() === 30_000 && written('calm') === 10, PROCESS_WAIT_MS)
  assert.ok(dropped() > 0)
  const said = linesOf(host).find((line) => line.dropped !== undefined)
  assert.match(`${said?.level} ${said?.msg}`, /^warn \d+ lines of the site's log were dropped/)
})

test('a loop that logs for ever costs its isolate, and the log says that lines were dropped', async (t) => {
  const sites = [{ id: 'a', root: tempSite(t, { 'app/page.tsx': 'export default () => { for (;;) console.log("again") }' }) }]
  const host = await HostProcess.start(t, { render: { timeout_ms: 1_500 }, sites })
  await assert.rejects(host.render('a', '/'), { code: 'RENDER_TIMEOUT' })
  await waitFor('the line', () => linesOf(host).some((line) => (line.dropped ?? 0) > 0), PROCESS_WAIT_MS)
})
