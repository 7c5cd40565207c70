// Campaign: the panel over thousands of things and an hour of events: rows in view alone, small responses, flat memory
import assert from 'node:assert/strict'
import type { CDPSession, Page } from 'playwright-core'
import { panelTests, settled } from './panel-browser.ts'

const MAX_RESPONSE_BYTES = 100 * 1024
/** Drawn rows of a table, whatever its length. */
const MAX_ROWS = 80
/** An hour of summaries, one every five seconds. */
const SUMMARIES = 720
/** Growth of the heap that counts as none. */
const MAX_GROWTH = 1.1

/** Replaces the event streams of a page by one that the test feeds: `feed(path, messages)`. */
const FAKE_STREAMS = `
  globalThis.streams = new Set()
  globalThis.EventSource = class extends EventTarget {
    constructor(url) {
      super()
      this.url = url
      streams.add(this)
      setTimeout(() => this.onopen?.())
    }
    close() { streams.delete(this) }
  }
  globalThis.feed = (part, messages) => {
    for (const stream of streams) {
      if (!stream.url.includes(part)) continue
      for (const message of messages) stream.onmessage?.({ data: JSON.stringify(message) })
    }
  }
`

/** Bytes of live objects after a collection. */
async function heapOf(client: CDPSession): Promise<number> {
  await client.send('HeapProfiler.collectGarbage')
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  return usedSize
}

/** Collects responses over the wire that are larger than they may be. */
function largeResponses(page: Page): string[] {
  const large: string[] = []
  page.on('response', async (response) => {
    if (response.headers()['content-type'] === 'text/event-stream') return
    const sizes = await response
      .request()
      .sizes()
      .catch(() => undefined)
    const bytes = sizes?.responseBodySize ?? 0
    if (bytes > MAX_RESPONSE_BYTES) large.push(`${response.url()}: ${bytes}`)
  })
  return large
}

const more = Array.from({ length: 1_000 }, (_, index) => {
  const id = `site-${String(index).padStart(4, '0')}`
  return `[[sites]]\nid = "${id}"\nhostnames = ["${id}.example", "www.${id}.example"]\nroot = "."\n`
}).join('')
const panelTest = panelTests({ more })

panelTest('a thousand sites are listed, found and drawn in view alone, and no response is large', async ({ url, pageOf }) => {
  const page = await pageOf('alice')
  const large = largeResponses(page)
  for (const path of ['sites', 'configuration', 'caches', 'flows', 'logs', 'audit', 'alerts']) {
    await page.goto(`${url}/__svc/admin/${path}`)
    await settled(page)
    assert.ok((await page.locator('tbody tr').count()) <= MAX_ROWS * 3, path)
  }
  await page.goto(`${url}/__svc/admin/sites`)
  await page.waitForSelector('text="1,002 sites"')
  assert.ok((await page.locator('tbody tr').count()) <= MAX_ROWS)
  await page.keyboard.press('Control+k')
  await page.waitForSelector('dialog [role=combobox]')
  await page.keyboard.type('site-0777')
  await page.waitForSelector('[role=option][aria-selected=true]:has-text("site-0777")')
  assert.deepEqual(large, [])
})

panelTest(
  'a thousand log lines a second stay in a bounded table, and the heap is flat after an hour of events',
  async ({ url, pageOf }, t) => {
    const page = await pageOf('alice')
    await page.addInitScript(FAKE_STREAMS)
    const client = await page.context().newCDPSession(page)
    await page.goto(`${url}/__svc/admin/logs`)
    await settled(page)
    const lines = (second: number) => `Array.from({ length: 1000 }, (_, index) => ({
      time: new Date(Date.UTC(2026, 0, 1) + ${second} * 1000 + index).toISOString(),
      level: 'info', proc: 'worker', msg: 'request ' + ${second} + ' ' + index, request_id: 'id-' + ${second} + '-' + index,
    }))`
    const secondOf = (second: number) => page.evaluate(`feed('logs/stream', ${lines(second)})`)
    for (let second = 0; second < 10; second++) await secondOf(second)
    await page.waitForSelector('td button:has-text("request 9 999")')
    const before = await heapOf(client)
    for (let second = 10; second < 70; second++) await secondOf(second)
    await page.waitForSelector('td button:has-text("request 69 999")')
    const after = await heapOf(client)
    assert.ok((await page.locator('tbody tr').count()) <= MAX_ROWS)
    t.diagnostic(`logs: ${before} bytes after 10,000 lines, ${after} after 70,000`)
    assert.ok(after <= before * MAX_GROWTH, `${before} bytes, then ${after}`)
  },
)

panelTest('the heap of an overview is flat after an hour of summaries', async ({ url, pageOf }, t) => {
  const page = await pageOf('alice')
  await page.addInitScript(FAKE_STREAMS)
  const client = await page.context().newCDPSession(page)
  await page.goto(`${url}/__svc/admin`)
  const report = await page.evaluate("fetch('/__svc/obs/summary').then((answer) => answer.json())")
  const hour = (minutes: number) =>
    page.evaluate(`(async () => {
        const report = ${JSON.stringify(report)}
        for (let at = 0; at < ${minutes * 12}; at++) {
          feed('summary', [{ ...report, at: new Date(at * 5000).toISOString(), uptime_secs: at * 5 }])
          await new Promise((resolve) => requestAnimationFrame(() => resolve()))
        }
      })()`)
  await hour(5)
  await settled(page)
  const before = await heapOf(client)
  await hour(SUMMARIES / 12)
  const after = await heapOf(client)
  t.diagnostic(`overview: ${before} bytes, ${after} after ${SUMMARIES} summaries`)
  assert.ok(after <= before * MAX_GROWTH, `${before} bytes, then ${after}`)
})
