// Campaign: operations of the panel in a browser: configuration, purges, silences
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { fetchHttp, waitFor } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { act, faultsOf, panelTests, settled } from './panel-browser.ts'

const panelTest = panelTests()

panelTest(
  'values in service show their source, and a reload its changes before and its result after it',
  async ({ url, configFile, pageOf }) => {
    const page = await pageOf('alice')
    const faults = faultsOf(page)
    await page.goto(`${url}/__svc/admin/configuration?q=server.workers`)
    await settled(page)
    await page.waitForSelector('text="The files match the configuration in service."')
    const row = '[aria-label="Values in service: table"] tr:has(code:text-is("server.workers"))'
    await page.waitForSelector(`${row}:has-text("svc.config.toml:")`)
    await page.selectOption('.section select', { label: 'a default' })
    await page.waitForSelector('text="No value matches."')
    await page.goto(`${url}/__svc/admin/configuration?q=jwt`)
    await page.waitForSelector('tr:has(code:text-is("admin.jwt_secret")) code:text-is(\'"***"\')')

    const before = readFileSync(configFile, 'utf8')
    writeFileSync(configFile, before.replace('workers = 1', 'workers = 2').replace('id = "blog"', 'id = "journal"'))
    await page.click('button:text-is("Compare again")')
    await page.waitForSelector('[aria-label="Values to change: table"] tr:has-text("server.workers"):has-text("after a restart")')
    await page.waitForSelector('.facts div:has-text("Sites to add"):has-text("journal")')
    await act(page, 'Reload the configuration', 'These take effect after a restart: server.workers.')
    await page.goto(`${url}/__svc/admin/configuration?q=server.workers`)
    await page.waitForSelector(`${row}:has-text("2 after a restart")`)

    writeFileSync(configFile, before.replace('workers = 1', 'wrokers = 1'))
    await page.click('button:text-is("Compare again")')
    await page.waitForSelector('[role=alert] code:has-text("svc.config.toml:")')
    await page.click('button:text-is("Reload the configuration")')
    await page.click('dialog .buttons button:text-is("Reload the configuration")')
    await page.waitForSelector('dialog [role=alert]:has-text("reload_failed") code:has-text("wrokers")')
    await page.keyboard.press('Escape')
    writeFileSync(configFile, before)
    await page.click('button:text-is("Compare again")')
    await act(page, 'Reload the configuration', 'is in service')
    await page.waitForSelector('text="The files match the configuration in service."')
    assert.deepEqual(faults, [])
  },
)

panelTest(
  'an alert is silenced by keyboard, the verdict changes, and undo brings it back; so does the end of a silence',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    await page.waitForSelector('.liveness:has-text("1 alert fires")', { timeout: 60_000 })
    await page.waitForSelector('.verdict:has-text("Something is wrong")')
    const row = '.alert:has(strong:text-is("uptime"))'
    await page.focus(`${row} button:text-is("Silence")`)
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog:has-text("The alert uptime stays in the lists") select:focus')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.type('known to all')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog .result:has-text("uptime is silenced until")')
    await page.waitForSelector('.verdict:has-text("All is well"):has-text("1 silenced")')
    await page.click('dialog button:text-is("Undo")')
    await page.waitForSelector('dialog .result:has-text("The silence of uptime has ended.")')
    await page.waitForSelector('.verdict:has-text("Something is wrong")')
    await page.keyboard.press('Escape')
    await page.goto(`${url}/__svc/admin/alerts`)
    await page.click(`${row} button:text-is("Silence")`)
    await page.click('dialog .buttons button:text-is("Silence")')
    await page.waitForSelector('dialog .result')
    await page.keyboard.press('Escape')
    await page.waitForSelector(`${row}:has-text("Silenced by alice")`)
    await act(page, 'End silence', 'The silence of uptime has ended.')
    await page.waitForSelector(`${row} button:text-is("Silence")`)
  },
)

panelTest('a stream that the server refuses says why, and begins when there is room', async ({ url, pageOf, newPage }) => {
  const first = await pageOf('vera')
  const cookies = await first.context().cookies()
  const pages = [first]
  // Each page of logs follows two streams; a worker serves eight to a user.
  for (let opened = 0; opened < 4; opened++) {
    const page = await newPage()
    await page.context().addCookies(cookies)
    await page.goto(`${url}/__svc/admin/logs`)
    await settled(page)
    pages.push(page)
  }
  const last = pages.at(-1) ?? first
  await last.waitForSelector('[role=status]:has-text("Stale since"):has-text("streams")')
  for (const page of pages.slice(0, -1)) await page.context().close()
  await last.waitForSelector('.section .status:has-text("Live")', { timeout: 60_000 })
})

panelTest(
  'a tab in the background leaves its connections to others, and has all lines when it is shown again',
  async ({ url, pageOf }) => {
    const first = await pageOf('alice')
    const context = first.context()
    // A browser without a window hides no tab: the test says which one shows.
    await context.addInitScript(`Object.defineProperty(document, 'visibilityState', {
      get: () => (globalThis.isBehind === true ? 'hidden' : 'visible'),
    })`)
    const show = (page: Page, isBehind: boolean) =>
      page.evaluate(`globalThis.isBehind = ${isBehind}; document.dispatchEvent(new Event('visibilitychange'))`)
    const stale = '.section [role=status]:has-text("Stale since")'
    const live = '.section .status:has-text("Live")'
    await first.goto(`${url}/__svc/admin/logs?q=reload`)
    await first.waitForSelector(live)
    const lines = await first.locator('[aria-label="Log lines: table"] tbody tr').count()
    let last = first
    // Each follows two streams; the browser has six connections, and the worker sends eight streams to a user.
    for (let tab = 0; tab < 5; tab++) {
      await show(last, true)
      await last.waitForSelector(stale)
      last = await context.newPage()
      await last.goto(`${url}/__svc/admin/logs?q=reload`)
      await last.waitForSelector(live)
    }
    const reload = await fetchHttp(`${url}/__svc/api/reload`, { method: 'POST' })
    assert.equal(reload.status, 200, reload.text)
    await last.waitForSelector('[aria-label="Log lines: table"] td button:has-text("reload")')
    await show(first, false)
    await first.waitForSelector(live)
    await waitFor(
      'the lines of the time in the background',
      async () => (await first.locator('[aria-label="Log lines: table"] tbody tr').count()) > lines,
    )
  },
)

panelTest('a path of a site is purged from all layers after its entries are counted', async ({ url, pageOf }) => {
  const page = await pageOf('tom')
  const entries = async () => {
    const found = await page.evaluate("fetch('/__svc/admin/api/cache/count?site=shop&path=/').then((answer) => answer.json())")
    return (found as { readonly isr: { readonly entries: number } }).isr.entries
  }
  await fetchHttp(`${url}/`, { host: 'shop.localhost' })
  await waitFor('the page in the store', async () => (await entries()) === 1)
  await page.goto(`${url}/__svc/admin/site?id=shop&tab=cache&path=/`)
  await settled(page)
  await act(page, 'Purge path', 'Dropped')
  await waitFor('the page to be gone', async () => (await entries()) === 0)
})
