import assert from 'node:assert/strict'
import { fetchHttp, waitFor } from '@svc/testkit'
import { faultsOf, logIn, panelTests } from './panel-browser.ts'

const panelTest = panelTests()
/** Bytes over the wire of a first load, with its scripts compressed. */
const MAX_FIRST_LOAD = 90 * 1024

panelTest('log in, take a site out of service and back, log out', async ({ url, newPage }) => {
  const statusOfSite = async () => (await fetchHttp(`${url}/a.txt`, { host: 'shop.localhost' })).status
  const page = await newPage()
  const faults = faultsOf(page)

  await page.goto(`${url}/__svc/admin/site?id=shop`)
  assert.match(page.url(), /\/__svc\/admin\/login\?next=/)
  await logIn(page, 'alice', 'wrong')
  await page.waitForSelector('[role=alert]:has-text("is wrong")')
  await logIn(page, 'alice')
  await page.waitForURL('**/__svc/admin/site?id=shop')
  assert.equal(await statusOfSite(), 200)

  await page.click('text="Begin maintenance"')
  await page.waitForSelector('dialog:has-text("every request to 1 host name of shop with 503")')
  await page.click('dialog >> role=button[name="Begin maintenance"]')
  await page.waitForSelector('dialog:has-text("shop is in maintenance.")')
  assert.equal(await statusOfSite(), 503)
  await page.click('dialog >> role=button[name="Close"]')
  await page.click('text="End maintenance"')
  await page.click('dialog >> role=button[name="End maintenance"]')
  await page.waitForSelector('dialog:has-text("shop serves again.")')
  assert.equal(await statusOfSite(), 200)
  await page.click('dialog >> role=button[name="Close"]')

  await page.click('text="Log out"')
  await page.waitForURL('**/login')
  await page.goto(`${url}/__svc/admin`)
  assert.match(page.url(), /\/login$/)
  assert.deepEqual(faults, [])
})

panelTest('the first load of the overview, with its charts, is at most 90 KB', async ({ url, pageOf, newPage }, t) => {
  await fetchHttp(`${url}/a.txt`, { host: 'shop.localhost' })
  const page = await pageOf('alice')
  // Workers report requests every few seconds.
  await waitFor('the request to be counted', () =>
    page.evaluate(
      `fetch('/__svc/obs/analytics').then((answer) => answer.json()).then(({ buckets }) => buckets.some(({ requests }) => requests > 0))`,
    ),
  )
  const fresh = await newPage()
  await fresh.context().addCookies(await page.context().cookies())
  const sizes: Record<string, number> = {}
  fresh.on('response', async (response) => {
    const { pathname } = new URL(response.url())
    if (response.headers()['content-type'] === 'text/event-stream') return
    const { responseBodySize, responseHeadersSize } = await response.request().sizes()
    sizes[pathname] = responseBodySize + responseHeadersSize
  })
  await fresh.goto(`${url}/__svc/admin`)
  await fresh.waitForSelector('canvas')
  await fresh.waitForSelector('text="healthy"')
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0)
  assert.ok(
    Object.keys(sizes).some((name) => name.includes('uPlot')),
    Object.keys(sizes).join(' '),
  )
  assert.ok(total <= MAX_FIRST_LOAD, `${total} bytes: ${JSON.stringify(sizes)}`)
  t.diagnostic(`first load: ${total} bytes`)
})
