// Campaign: the tasks of docs/panel.md, each in at most three interactions from the overview
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { requireProgram, startBrowser, waitFor } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { logIn, settled } from './panel-browser.ts'
import { startBusyInstance } from './panel-seed/instance.ts'

const MAX_INTERACTIONS = 3

/** A user who counts: an interaction is a click, or a text that is typed with the Enter after it. */
class CountingUser {
  readonly page: Page
  interactions = 0

  constructor(page: Page) {
    this.page = page
  }

  async click(selector: string): Promise<void> {
    this.interactions++
    await this.page.click(selector)
  }

  /** Opens the palette. */
  async palette(): Promise<void> {
    this.interactions++
    await this.page.keyboard.press('Control+k')
    await this.page.waitForSelector('dialog [role=combobox]')
  }

  /** Types, and takes what is found first. */
  async type(text: string, found: string): Promise<void> {
    this.interactions++
    await this.page.keyboard.type(text)
    await this.page.waitForSelector(`[role=option][aria-selected=true]:has-text("${found}")`)
    await this.page.keyboard.press('Enter')
  }
}

const ends: (() => unknown)[] = []
after(async () => {
  for (const end of ends.reverse()) await end()
})

test('the tasks of an operator', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const cleanup = { after: (end: () => unknown) => void ends.push(end) }
  const { url, password } = await startBusyInstance(cleanup)
  const page = await (await (await startBrowser(cleanup, executable)).newContext()).newPage()
  await page.goto(`${url}/__svc/admin/login`)
  await logIn(page, 'alice', password)
  await page.waitForURL('**/__svc/admin')

  const task = async (name: string, steps: (user: CountingUser) => Promise<void>) => {
    await t.test(name, async () => {
      await page.goto(`${url}/__svc/admin`)
      await settled(page)
      const user = new CountingUser(page)
      await steps(user)
      assert.ok(user.interactions <= MAX_INTERACTIONS, `${user.interactions} interactions`)
    })
  }

  await task('find why a page is slow', async (user) => {
    await user.click('.stat:has-text("Latency p99") a')
    await user.click('td button:has-text("/search")')
    await page.waitForSelector('.waterfall tr:has(th:text-is("render")) data:text-matches("^[0-9.]+ s$")')
  })

  await task('purge a tag', async (user) => {
    await user.palette()
    await user.type('tag products', 'Purge the tag products')
    await page.waitForSelector('dialog:has-text("Drops 10 pages")')
    await user.click('dialog button:text-is("Purge tag")')
    await page.waitForSelector('dialog .result:has-text("Dropped 10 pages")')
  })

  await task('see what failed in the last five minutes of one site', async (user) => {
    await user.palette()
    await user.type('shop', 'Site shop')
    await user.click('a:text-is("Failed requests, last 5 minutes")')
    await page.waitForSelector('td button:has-text("/checkout")')
    assert.match(page.url(), /site=shop&reason=failed&time=5$/)
  })

  await task('find the entry behind a URL', async (user) => {
    await user.palette()
    await user.type('http://blog.localhost/posts/post-1?from=mail', 'Stored responses of http://blog')
    await user.click('td button:text-is("/posts/post-1")')
    await page.waitForSelector('figure:has-text("Body (utf8)") pre:has-text("post-1")')
  })

  await task('restart workers and watch', async (user) => {
    await user.click('.stat:has-text("Render hosts") a')
    await user.click('button:text-is("Restart render hosts")')
    await user.click('dialog button:text-is("Restart render hosts")')
    await page.waitForSelector('dialog progress, dialog .result')
    await page.waitForSelector('dialog .result:has-text("replaced.")', { timeout: 60_000 })
  })

  await task('roll a release back', async (user) => {
    await user.click('a:text-is("deploy of shop") >> nth=0')
    await user.click('button:text-is("Roll back") >> nth=0')
    await user.click('dialog button:text-is("Roll back")')
    await page.waitForSelector('dialog .result:has-text("serves the release")', { timeout: 60_000 })
    await page.keyboard.press('Escape')
    await waitFor('the release to be live', async () => (await page.locator('tr:has-text("live")').count()) === 1)
  })
})
