// Campaign: no answer to any page of the panel is larger than 100 KB, whatever visitors and the configuration made of its data
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireProgram, startBrowser, waitFor } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { faultsOf, logIn, paths, settled } from './panel-browser.ts'
import { startLargeInstance } from './panel-seed/large-instance.ts'

const MAX_BYTES = 100 * 1024
/** Drawn rows of a table, whatever its length. */
const MAX_ROWS = 80

/** Collects the bytes of answers, before any compression, by path. */
function sizesOf(page: Page): Map<string, number> {
  const sizes = new Map<string, number>()
  page.on('response', async (response) => {
    if (response.headers()['content-type'] === 'text/event-stream') return
    const bytes = await response.body().then(
      ({ byteLength }) => byteLength,
      // The page was left.
      () => 0,
    )
    const { pathname } = new URL(response.url())
    sizes.set(pathname, Math.max(bytes, sizes.get(pathname) ?? 0))
  })
  return sizes
}

/** Scrolls tables to their ends until they have all rows. */
async function loadAll(page: Page, path: string): Promise<void> {
  await waitFor(
    `all rows of ${path} to be loaded`,
    async () => {
      await page.evaluate(`for (const box of document.querySelectorAll('.table-box')) box.scrollTo(0, 1e9)`)
      return (await page.locator('button:text-is("Load more")').count()) === 0
    },
    // A page of the log has eight lines of 8 KB.
    120_000,
  )
}

test('every answer to every page stays small over a large instance, and lists show all they have', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const { url, password } = await startLargeInstance(t)
  const page = await (await (await startBrowser(t, executable)).newContext()).newPage()
  const faults = faultsOf(page)
  const sizes = sizesOf(page)
  await page.goto(`${url}/__svc/admin/login`)
  await logIn(page, 'alice', password)
  await page.waitForURL('**/__svc/admin')
  for (const path of paths) {
    await page.goto(url + path.replace('id=shop', 'id=large'))
    await settled(page)
    assert.ok(
      (await page
        .locator('table')
        .first()
        .locator('tbody tr')
        .count()
        .catch(() => 0)) <= MAX_ROWS,
      path,
    )
  }
  for (const [path, count] of [
    ['sites', 1_001],
    ['tasks', 300],
    ['upstreams', 1_500],
    ['certificates', 20],
    ['logs?site=large', 200],
    ['flows?reason=failed', 100],
    ['site?id=large&tab=routes', 300],
  ] as const) {
    await page.goto(`${url}/__svc/admin/${path}`)
    await settled(page)
    await loadAll(page, path)
    const rows = Number(await page.locator('.table-box table').last().getAttribute('aria-rowcount')) - 1
    assert.ok(rows >= count, `${path}: ${rows} rows`)
  }
  await page.goto(`${url}/__svc/admin/users`)
  await settled(page)
  await loadAll(page, 'users')
  await page.goto(`${url}/__svc/admin/caches?site=large`)
  await settled(page)
  await page.click('td button:has-text("/tagged/")')
  await page.waitForSelector('figure:has-text("Body (utf8)")')
  await page.waitForSelector('.hint:has-text("The first 16")')
  const large = [...sizes].filter(([path, bytes]) => bytes > MAX_BYTES && !path.includes('/assets/'))
  assert.deepEqual(large, [])
  assert.ok(
    [...sizes.values()].some((bytes) => bytes > MAX_BYTES / 2),
    'the data are large',
  )
  assert.deepEqual(faults, [])
  t.diagnostic(
    JSON.stringify(
      [...sizes]
        .filter(([path]) => !path.includes('/assets/'))
        .sort((a, b) => b[1] - a[1])
        .slice(0, 12),
    ),
  )
})
