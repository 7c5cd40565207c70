import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, type TestContext, test } from 'node:test'
import { type Cleanup, requireProgram, type Server, startBrowser, startServer, tempSite, waitFor } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { hashPassword } from '../packages/auth/src/index.ts'

export const PASSWORD = 'correct horse'
/** More than any page needs. */
const MAX_TABS = 150
/** A name that is markup, where a name may be. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

interface PanelOptions {
  /** Address to listen on. @default a free port */
  readonly listen?: string
  /** More of the configuration. */
  readonly more?: string
  /** More keys of `[server]`. */
  readonly server?: string
  readonly env?: Readonly<Record<string, string>>
}

const page = 'export default function Page() { return <h1>shop</h1> }\n'
const layout = 'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n'

/** Starts the product with the sites shop, of the tenant acme, and blog, and a user of each role. */
export async function startPanel(
  t: Cleanup,
  { listen = '127.0.0.1:0', more = '', server = '', env = {} }: PanelOptions = {},
): Promise<Server> {
  const hash = await hashPassword(PASSWORD)
  const user = (name: string, role: string) =>
    `[[admin.users]]\nusername = "${name}"\npassword_hash = "${hash}"\nrole = "${role}"\n`
  const site = (id: string, files: Record<string, string>) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${tempSite(t, files)}"\n`
  const config = `[server]
listen = "${listen}"
workers = 1
${server}[admin]
enabled = true
jwt_secret = "0123456789abcdef0123456789abcdef"
${user('alice', 'super_admin')}${user('vera', 'viewer')}${user('tom', 'tenant_admin')}tenant_id = "acme"
${site('shop', { 'app/page.tsx': page, 'app/layout.tsx': layout, 'public/a.txt': 'open' })}tenant = "acme"
${site('blog', { 'public/a.txt': 'open' })}
[[tasks]]
name = "nightly"
schedule = "0 3 1 1 *"
handler = "http::GET /a.txt"
host = "shop.localhost"
[[route_rules]]
pattern = "/api/**"
host = "blog.localhost"
upstream = "http://127.0.0.1:9"
[[obs.slos]]
name = "shop-up"
site = "shop"
kind = "availability"
objective = 0.999
[[obs.alerts]]
name = "uptime"
metric = "process_uptime_seconds"
above = 0
for_secs = 0
${more}`
  return startServer(t, { config, env })
}

/** The product and a browser, which the tests of a file share. */
interface OpenPanel {
  readonly url: string
  readonly configFile: string
  /** A page in a session of its own, without a login. */
  newPage(): Promise<Page>
  /** A page in a session of its own, after the login of a user. */
  pageOf(username: string, url?: string): Promise<Page>
  /** Ends all sessions of the browser. */
  closePages(): Promise<void>
}

type PanelTest = (name: string, run: (panel: OpenPanel, t: TestContext) => Promise<void>) => void

/** Declares tests in a browser. All of a file share one product, which starts with the first. */
export function panelTests(options: Pick<PanelOptions, 'more'> = {}): PanelTest {
  const ends: (() => unknown)[] = []
  let opened: Promise<OpenPanel> | undefined
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const open = async (executable: string): Promise<OpenPanel> => {
    const cleanup = { after: (end: () => unknown) => void ends.push(end) }
    const { url, configFile = '' } = await startPanel(cleanup, options)
    const browser = await startBrowser(cleanup, executable)
    const newPage = async () => (await browser.newContext()).newPage()
    // An open page follows streams, of which a worker serves a few alone.
    const closePages = async () => {
      for (const context of browser.contexts()) await context.close()
    }
    const pageOf = async (username: string, at = url) => {
      const page = await newPage()
      await page.goto(`${at}/__svc/admin/login`)
      await logIn(page, username)
      await page.waitForURL('**/__svc/admin')
      return page
    }
    return { url, configFile, newPage, pageOf, closePages }
  }
  return (name, run) => {
    test(name, async (t) => {
      const executable = requireProgram(t, 'chromium')
      if (executable === undefined) return
      opened ??= open(executable)
      const panel = await opened
      t.after(() => panel.closePages())
      await run(panel, t)
    })
  }
}

/** Collects what must not happen in a page: errors of its code, and breaches of the policy. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (line) => /Content Security Policy|Trusted/i.test(line.text()) && faults.push(line.text()))
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(page.url() === 'about:blank' ? request.url() : page.url()).origin)) {
      faults.push(`outside: ${request.url()}`)
    }
  })
  return faults
}

/** Logs in on the page of the login, where the browser is. */
export async function logIn(page: Page, username: string, password = PASSWORD): Promise<void> {
  await page.fill('[name=username]', username)
  await page.fill('[name=password]', password)
  await page.click('button[type=submit]')
}

/** Waits until the page has its code and its data. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('main')
  await waitFor('all parts of the page to be loaded', async () => (await page.locator('.skeleton').count()) === 0)
}

/** Moves the focus with Tab, as far as the first element of a selector. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  await page.waitForSelector(selector)
  const isThere = () => page.locator(`:is(${selector}):focus`).count()
  for (let presses = 0; (await isThere()) === 0; presses++) {
    if (presses === MAX_TABS) throw new Error(`${selector} has no focus after ${presses} presses of Tab`)
    await page.keyboard.press('Tab')
  }
}

/** Takes an action by keyboard alone, once its effect is known, and waits for its result. */
export async function act(page: Page, label: string, result: string): Promise<void> {
  await page.waitForSelector(`button:text-is("${label}")`)
  await page.focus(`button:text-is("${label}")`)
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog button:focus:text-is("Cancel")')
  await page.waitForSelector(`dialog .buttons button:enabled:text-is("${label}")`)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector(`dialog .result:has-text("${result}")`, { timeout: 60_000 })
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })
}

const manifest = JSON.parse(readFileSync(new URL('../dist/panel/manifest.json', import.meta.url), 'utf8'))
/** Parameters of pages that show one thing. */
const queries: Readonly<Record<string, string>> = { '/__svc/admin/site': '?id=shop' }
/** All pages of the table. */
export const paths = Object.keys(manifest.pages).map((path) => `${path}${queries[path] ?? ''}`)
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/**
 * Rules of accessibility that the page breaks, with the first places.
 * @param isRecoloured the same page passed in other colours: only contrast can have changed
 */
export async function violationsOf(page: Page, isRecoloured = false): Promise<string[]> {
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(axe)
  const rules = isRecoloured ? { type: 'rule', values: ['color-contrast'] } : RULES
  const script = `axe.run(document, { runOnly: ${JSON.stringify(rules)} }).then(({ violations }) => violations)`
  const found = (await page.evaluate(script)) as Violation[]
  return found.map(
    ({ id, nodes }) => `${id}: ${nodes.slice(0, 2).map(({ html, failureSummary }) => `${html} ${failureSummary}`)}`,
  )
}
