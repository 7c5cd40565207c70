// Campaign: every page of the panel is accessible, in each of its colours and on each width
import assert from 'node:assert/strict'
import { fetchHttp } from '@svc/testkit'
import { faultsOf, panelTests, paths, settled, violationsOf } from './panel-browser.ts'

/** Colours and width of the window. The second of each width has the elements of the first. */
const frames = [
  ['light', 1280, false],
  ['dark', 1280, true],
  ['dark', 360, false],
  ['light', 360, true],
] as const

const panelTest = panelTests()

panelTest(
  'every page obeys the rules of WCAG 2.2 AA, light and dark, on a desktop and on a phone, and the policy of the panel',
  async ({ url, pageOf }) => {
    await fetchHttp(`${url}/a.txt`, { host: 'shop.localhost' })
    const page = await pageOf('alice')
    const faults = faultsOf(page)
    for (const path of paths) {
      await page.goto(url + path)
      for (const [colorScheme, width, isRecoloured] of frames) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        await settled(page)
        const place = `${path} ${colorScheme} ${width}`
        assert.deepEqual(await violationsOf(page, isRecoloured), [], place)
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${place} scrolls sideways`)
      }
    }
    await page.goto(`${url}/__svc/admin`)
    await settled(page)
    await page.keyboard.press('Control+k')
    await page.waitForSelector('dialog [role=option]:has-text("shop")')
    assert.deepEqual(await violationsOf(page), [], 'palette')
    assert.deepEqual(faults, [])
  },
)
