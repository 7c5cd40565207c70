// Campaign: operations of the panel by keyboard alone, from the beginning of the page: no pointer, no focus that a script sets
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type Cleanup,
  fetchHttp,
  PROCESS_WAIT_MS,
  requireProgram,
  startBrowser,
  tempDir,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import type { Page } from 'playwright-core'
import { AcmeServer } from './acme/acme-server.ts'
import { env, issuedAt } from './acme/automatic-server.ts'
import { faultsOf, logIn, settled, startPanel, tabTo } from './panel-browser.ts'

const BUDGET = 20
const plugin = `export default {
  name: 'headers',
  version: '1.0.0',
  hooks: { onResponse: () => ({ headers: { 'x-from-plugin': 'yes' } }) },
}
`
const layout = 'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n'
const release = (version: number) => ({
  'public/a.txt': 'a',
  'app/layout.tsx': layout,
  'app/page.tsx': `export default function Page() { return <h1>version ${version}</h1> }\n`,
})

/** The product with a plugin, two releases to deploy, a small budget for clients and an authority for certificates. */
async function startOperated(t: Cleanup) {
  const acme = await AcmeServer.start(t as Parameters<typeof AcmeServer.start>[0])
  const dir = tempDir(t, 'panel-keyboard')
  const plugins = join(dir, 'plugins')
  mkdirSync(plugins)
  chmodSync(plugins, 0o755)
  writeFileSync(join(plugins, '10-headers.mjs'), plugin, { mode: 0o644 })
  for (const version of [2, 3]) writeFiles(join(dir, 'releases', `v${version}`), release(version))
  const root = join(dir, 'secure')
  writeFiles(root, { 'public/a.txt': 'a' })
  const server = await startPanel(t, {
    server: 'listen_tls = "127.0.0.2:0"\n',
    env,
    more: `[tls]
auto = true
email = "admin@secure.test"
acme_directory = "${acme.directory}"
[plugins]
directory = "${plugins}"
[deploy]
sources = ["${join(dir, 'releases')}"]
[rate_limit]
enabled = true
requests_per_minute = ${BUDGET}
exempt = ["127.0.0.1/32"]
[[sites]]
id = "secure"
hostnames = ["secure.test"]
root = "${root}"
`,
  })
  acme.lead(server.url)
  return { ...server, acme, releases: join(dir, 'releases') }
}

/** Presses a button that opens a dialog, and confirms it, with Tab, Enter and text alone. */
async function operate(page: Page, label: string, { text = '', result }: { text?: string; result: string }): Promise<void> {
  await tabTo(page, `main button:text-is("${label}")`)
  await page.keyboard.press('Enter')
  await page.waitForSelector(`dialog .buttons button:enabled:text-is("${label}")`)
  if (text === '') {
    await page.waitForSelector('dialog button:focus:text-is("Cancel")')
    await page.keyboard.press('Tab')
  } else {
    await page.waitForSelector('dialog input:focus')
    await page.keyboard.type(text)
  }
  await page.keyboard.press('Enter')
  await page.waitForSelector(`dialog .result:has-text("${result}")`, { timeout: PROCESS_WAIT_MS })
}

/** Closes the dialog; the focus must be on a part of the page again, so that Tab goes on from there. */
async function close(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })
}

test('operations by keyboard alone', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const server = await startOperated(t)
  const { url, acme, releases } = server
  const browser = await startBrowser(t, executable)
  const page = await (await browser.newContext()).newPage()
  const faults = faultsOf(page)
  const open = async (path: string) => {
    await page.goto(`${url}/__svc/admin/${path}`)
    await settled(page)
  }
  const shop = (path = '/') => fetchHttp(url + path, { host: 'shop.localhost' })
  await page.goto(`${url}/__svc/admin/login`)
  await logIn(page, 'alice')
  await page.waitForURL('**/__svc/admin')

  await t.test('maintenance begins with a message, is undone in the dialog, begins again and ends', async () => {
    await open('site?id=shop')
    await operate(page, 'Begin maintenance', { text: 'back at noon', result: 'shop is in maintenance.' })
    const answer = await shop()
    assert.deepEqual([answer.status, answer.text.includes('back at noon')], [503, true])
    await tabTo(page, 'dialog button:text-is("Undo")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog .result:has-text("shop serves again.")')
    assert.equal((await shop()).status, 200)
    await close(page)
    await operate(page, 'Begin maintenance', { text: 'again', result: 'shop is in maintenance.' })
    await close(page)
    await operate(page, 'End maintenance', { result: 'shop serves again.' })
    await close(page)
    assert.equal((await shop()).status, 200)
  })

  await t.test('a release is deployed, after a mistyped path, and rolled back', async () => {
    await open('site?id=shop&tab=releases')
    await tabTo(page, 'main button:text-is("Deploy")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog input:focus')
    await page.keyboard.type(join(releases, 'v'))
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog [role=alert]')
    // What was typed is still there, and its end can be mended.
    await tabTo(page, 'dialog input')
    await page.keyboard.press('End')
    await page.keyboard.type('2')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog .result:has-text("shop serves the release")', { timeout: PROCESS_WAIT_MS })
    await close(page)
    assert.match((await shop()).text, /version 2/)
    await operate(page, 'Deploy', { text: join(releases, 'v3'), result: 'shop serves the release' })
    await close(page)
    assert.match((await shop()).text, /version 3/)
    await operate(page, 'Roll back', { result: 'shop serves the release' })
    await close(page)
    assert.match((await shop()).text, /version 2/)
  })

  await t.test('a plugin is disabled and enabled', async () => {
    const isCalled = async () => (await shop('/a.txt')).headers['x-from-plugin'] === 'yes'
    assert.equal(await isCalled(), true)
    await open('plugins')
    await operate(page, 'Disable', { result: 'headers is disabled.' })
    await close(page)
    assert.equal(await isCalled(), false)
    await operate(page, 'Enable', { result: 'headers is enabled.' })
    await close(page)
    assert.equal(await isCalled(), true)
  })

  await t.test('a client that used up its budget gets it back', async () => {
    const agent = new Agent({ keepAlive: true, localAddress: '127.0.0.3' })
    t.after(() => agent.destroy())
    const status = async () => (await fetchHttp(`${url}/a.txt`, { host: 'shop.localhost', agent })).status
    await waitFor('the client to be refused', async () => (await status()) === 429)
    await open('rate-limits')
    await page.waitForSelector('tr:has-text("127.0.0.3"):has-text("refused")')
    await operate(page, 'Reset', { result: '127.0.0.3 has its whole budget again.' })
    await close(page)
    assert.equal(await status(), 200)
  })

  await t.test('a certificate is renewed', async () => {
    await issuedAt(server, 'secure.test')
    await open('certificates')
    const before = acme.orders.filter((host) => host === 'secure.test').length
    await tabTo(page, 'tr:has-text("secure.test") button:text-is("Renew")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog:has-text("Orders a new certificate for secure.test")')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog .result:has-text("was ordered")')
    await close(page)
    await waitFor(
      'the second certificate',
      () => acme.orders.filter((host) => host === 'secure.test').length === before + 1,
      PROCESS_WAIT_MS,
    )
  })
  assert.deepEqual(faults, [])
})
