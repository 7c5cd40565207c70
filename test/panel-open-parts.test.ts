// Campaign: the parts of pages that open, and dialogs, are accessible over the data of a busy server
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireProgram, startBrowser } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { faultsOf, logIn, settled, violationsOf } from './panel-browser.ts'
import { startBusyInstance } from './panel-seed/instance.ts'

const frames = [
  ['light', 1280],
  ['dark', 360],
] as const

/** A page of the seeded server with something open. */
async function openPlaces(page: Page): Promise<readonly string[]> {
  const get = (path: string) => page.evaluate(`fetch('/__svc/admin/api/${path}').then((answer) => answer.json())`)
  const { flows } = (await get('flows?limit=1')) as { readonly flows: readonly { readonly request_id: string }[] }
  const { entries } = (await get('cache/entries?limit=1')) as { readonly entries: readonly { readonly key: string }[] }
  return [
    `flows?request=${flows[0]?.request_id}`,
    `caches?entry=${entries[0]?.key}`,
    'tasks?task=refresh-stock',
    ...['routes', 'cache&path=/&tag=products', 'isolates', 'releases'].map((tab) => `site?id=shop&tab=${tab}`),
    `logs?line=${encodeURIComponent('{"msg":"a line"}')}`,
    'alerts',
    'traffic?window=7d',
  ]
}

test('what pages of a busy server open, and the dialogs of their actions, obey the same rules', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const { url, password } = await startBusyInstance(t)
  const page = await (await (await startBrowser(t, executable)).newContext()).newPage()
  const faults = faultsOf(page)
  await page.goto(`${url}/__svc/admin/login`)
  assert.deepEqual(await violationsOf(page), [], 'login')
  await logIn(page, 'alice', password)
  await page.waitForURL('**/__svc/admin')
  for (const path of await openPlaces(page)) {
    await page.goto(`${url}/__svc/admin/${path}`)
    for (const [colorScheme, width] of frames) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await settled(page)
      assert.deepEqual(await violationsOf(page), [], `${path} ${colorScheme} ${width}`)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${path} ${width} scrolls sideways`)
    }
  }
  await page.goto(`${url}/__svc/admin/site?id=shop`)
  await settled(page)
  for (const label of ['Deploy', 'Begin maintenance']) {
    await page.click(`button:text-is("${label}")`)
    await page.waitForSelector('dialog input')
    assert.deepEqual(await violationsOf(page), [], label)
    await page.keyboard.press('Escape')
  }
  assert.deepEqual(faults, [])
})
