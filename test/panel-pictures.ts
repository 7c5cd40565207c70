// Takes the pictures of docs/panel.md from a seeded server. Run it after a change of the look of the panel:
//   npm run build && bin/node test/panel-pictures.ts [PAGE...]
// The font is Inter, of Debian's package fonts-inter.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, startBrowser, waitFor } from '@svc/testkit'
import type { Browser, Page } from 'playwright-core'
import { logIn, settled } from './panel-browser.ts'
import { startBusyInstance, visit } from './panel-seed/instance.ts'
import { palettePng, readPng } from './panel-seed/palette-png.ts'

const outDir = process.env['PICTURES_DIR'] ?? new URL('../docs/images/panel/', import.meta.url).pathname
const { pages } = JSON.parse(readFileSync(new URL('../dist/panel/manifest.json', import.meta.url), 'utf8')) as {
  readonly pages: Readonly<Record<string, readonly string[]>>
}
const FIGURES_MS = 150_000
const VISITS_EVERY_MS = 4_000
const wanted = process.argv.slice(2)

/** Colours and window of a picture. */
interface Frame {
  readonly name: string
  readonly scheme: 'light' | 'dark'
  readonly width: number
  readonly height: number
}

const frames: readonly Frame[] = [
  { name: 'light', scheme: 'light', width: 1280, height: 900 },
  { name: 'dark', scheme: 'dark', width: 1280, height: 900 },
  { name: 'phone', scheme: 'light', width: 390, height: 844 },
]

/** Picture and address of each page. */
async function targetsOf(page: Page): Promise<readonly (readonly [name: string, path: string])[]> {
  const get = (path: string) => page.evaluate(`fetch('/__svc/admin/api/${path}').then((answer) => answer.json())`)
  const { flows } = (await get('flows?reason=slow&limit=1')) as { readonly flows: readonly { readonly request_id: string }[] }
  const { entries } = (await get('cache/entries?tag=products&limit=1')) as {
    readonly entries: readonly { readonly key: string }[]
  }
  const queries: Readonly<Record<string, string>> = {
    site: '?id=shop&tab=releases',
    flows: `?reason=slow&request=${flows[0]?.request_id}`,
    caches: `?tag=products&entry=${entries[0]?.key}`,
    tasks: '?task=refresh-stock',
    logs: '?level=info',
  }
  const below = '/__svc/admin/'
  const admin = Object.keys(pages).filter((path) => path.startsWith(below))
  const named = admin.map((path) => [path.slice(below.length), `${path}${queries[path.slice(below.length)] ?? ''}`] as const)
  return [['login', '/__svc/admin/login'], ['overview', '/__svc/admin'], ['dashboard', '/__svc/obs/dashboard'], ...named]
}

async function hasFigures(page: Page, url: string): Promise<boolean> {
  await visit(url)
  // Visitors come in their own time.
  await new Promise((resolve) => setTimeout(resolve, VISITS_EVERY_MS))
  const script = "fetch('/__svc/obs/summary').then((answer) => answer.json()).then(({ traffic }) => traffic.error_ratio !== null)"
  return (await page.evaluate(script)) === true
}

async function take(page: Page, file: string): Promise<number> {
  const bytes = palettePng(readPng(await page.screenshot({ animations: 'disabled' })))
  writeFileSync(file, bytes)
  return bytes.byteLength
}

async function takeAll(browser: Browser, url: string, password: string): Promise<void> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${url}/__svc/admin/login`)
  await logIn(page, 'alice', password)
  await page.waitForURL('**/__svc/admin')
  // The figures of the moment are those of the last full minute.
  await waitFor('figures of a minute', () => hasFigures(page, url), FIGURES_MS)
  const visitor = await (await browser.newContext()).newPage()
  for (const [name, path] of await targetsOf(page)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const shown = name === 'login' ? visitor : page
    await shown.goto(url + path)
    for (const { name: frame, scheme, width, height } of frames) {
      await shown.emulateMedia({ colorScheme: scheme })
      await shown.setViewportSize({ width, height })
      await settled(shown)
      if (await shown.locator('.plot').count()) await shown.waitForSelector('canvas')
      await shown.mouse.move(0, 0)
      const bytes = await take(shown, join(outDir, `${name}-${frame}.png`))
      process.stdout.write(`${name}-${frame}.png ${bytes}\n`)
    }
  }
}

const ends: (() => unknown)[] = []
const cleanup: Cleanup = { after: (end: () => unknown) => void ends.push(end) }
try {
  mkdirSync(outDir, { recursive: true })
  const { url, password } = await startBusyInstance(cleanup)
  const browser = await startBrowser(cleanup, process.env['CHROMIUM'] ?? '/usr/bin/chromium')
  await visit(url)
  await takeAll(browser, url, password)
} finally {
  for (const end of ends.reverse()) await end()
}
