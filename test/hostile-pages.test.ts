import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireProgram, startBrowser, startServer, tempSite } from '@svc/testkit'
import type { BrowserContext, Page } from 'playwright-core'
import { hashPassword } from '../packages/auth/src/index.ts'
import { logIn, PASSWORD } from './panel-browser.ts'

/** A host of the panel and one of a tenant's site below one domain, as `svc.example.org` and `shop.example.org` would be. */
const PANEL = 'panel.example.localhost'
const SITE = 'evil.example.localhost'
/** A name that its tenant lets resolve to the loopback address. Browsers do not trust plain HTTP to it, and say less of its pages. */
const REBOUND = 'evil.test'

const site = {
  'app/layout.tsx': 'export default ({ children }) => <html><body>{children}</body></html>',
  'app/page.tsx': 'export default () => <h1>a page of a tenant</h1>',
}

/** Endpoints for the machine itself: reading, and changing. */
const machineEndpoints = [
  ['GET', '/__svc/api/config'],
  ['GET', '/__svc/debug/router'],
  ['GET', '/__svc/cache/stats'],
  ['POST', '/__svc/cache/purge-l0'],
  ['POST', '/__svc/api/reload'],
  ['POST', '/__svc/api/deploy'],
] as const

/** Runs the text of a function in a page, as a script of the site could. */
function run<Result>(page: Page, script: string): Promise<Result> {
  return page.evaluate(`(async () => { ${script} })()`)
}

/** Answers for the panel, on the host that was the site's. */
const staysThere = `addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate') event.respondWith(new Response('<h1>of the site</h1>', { headers: { 'content-type': 'text/html' } }))
})`

async function configOf(hash: string, root: string): Promise<string> {
  const user = (name: string, role: string) =>
    `[[admin.users]]\nusername = "${name}"\npassword_hash = "${hash}"\nrole = "${role}"\n`
  return `[server]
listen = "127.0.0.1:0"
workers = 1
[render]
workers = 1
[admin]
enabled = true
jwt_secret = "0123456789abcdef0123456789abcdef"
hosts = ["${PANEL}"]
${user('alice', 'super_admin')}${user('vera', 'viewer')}
[[sites]]
id = "evil"
hostnames = ["${SITE}", "${REBOUND}", "localhost"]
root = "${root}"
`
}

test('pages of a hostile site in the browser of an administrator who has a tunnel to the server', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const { url } = await startServer(t, { config: await configOf(await hashPassword(PASSWORD), tempSite(t, site)) })
  const browser = await startBrowser(t, executable, [`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`])
  const at = (host: string) => url.replace('127.0.0.1', host)
  const panel = at(PANEL)
  const newPage = async (context: BrowserContext, address: string) => {
    const page = await context.newPage()
    await page.goto(address)
    return page
  }
  /** A browser in which alice is logged in and has opened a page of the site. */
  const visit = async () => {
    const context = await browser.newContext()
    t.after(() => context.close())
    const admin = await newPage(context, `${panel}/__svc/admin/login`)
    await logIn(admin, 'alice')
    await admin.waitForURL('**/__svc/admin')
    return { context, admin, page: await newPage(context, at(SITE)) }
  }
  const userOf = (admin: Page) =>
    run<string>(admin, `const { user } = await (await fetch('/__svc/admin/api/session')).json(); return user?.username`)

  for (const host of [SITE, REBOUND, 'localhost']) {
    await t.test(`have no right of the machine itself, on ${host}`, async (t) => {
      const context = await browser.newContext()
      t.after(() => context.close())
      const page = await newPage(context, at(host))
      for (const [method, path] of machineEndpoints) {
        const init = JSON.stringify({
          method,
          referrerPolicy: 'no-referrer',
          headers: { 'accept-language': '', 'user-agent': 'curl' },
        })
        const status = await run(page, `return (await fetch('${path}', ${init})).status`)
        assert.equal(status, 401, `${method} ${path}`)
      }
      const form = `const form = document.createElement('form'); form.method = 'post'; form.action = '/__svc/cache/purge-l0'
        document.body.append(form); form.submit()`
      const [answer] = await Promise.all([page.waitForResponse('**/purge-l0'), run(page, form)])
      assert.equal(answer.status(), 401, 'a form')
    })
  }

  await t.test('can neither read from the API nor change anything with the session of the panel', async () => {
    const { admin, page } = await visit()
    const asked = (path: string, init: string) =>
      run<string>(
        page,
        `return fetch('${panel}/__svc/admin/api/${path}', { credentials: 'include', ${init} }).then((answer) => answer.type + answer.status, String)`,
      )
    assert.match(await asked('session', ''), /^TypeError/, 'no CORS')
    assert.match(await asked('logout', `method: 'POST', headers: { 'x-svc-request': '1' }`), /^TypeError/, 'no preflight')
    const [sent, result] = await Promise.all([
      page.waitForRequest('**/logout'),
      asked('logout', `method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{}'`),
    ])
    assert.equal(result, 'opaque0')
    // Without the cookie it were 401: below one domain, SameSite does not keep it back.
    assert.equal((await sent.response())?.status(), 403)
    assert.equal(await userOf(admin), 'alice')
  })

  await t.test('cannot frame the panel, and get no handle on its window', async () => {
    const { page } = await visit()
    await run(
      page,
      `const frame = document.createElement('iframe'); frame.src = '${panel}/__svc/admin'
      await new Promise((resolve) => { frame.onload = resolve; document.body.append(frame) })`,
    )
    assert.match(page.frames()[1]?.url() ?? '', /^chrome-error:/)
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      run(page, `globalThis.opened = window.open('${panel}/__svc/admin'); return 1`),
    ])
    await opened.waitForSelector('main')
    assert.equal(await run(opened, 'return window.opener === null'), true)
  })

  await t.test('cannot end the session by a cookie that they set for the domain', async () => {
    const { admin, page } = await visit()
    await run(
      page,
      `for (const value of ['x', '', 'a.b.c']) for (const path of ['/__svc/', '/__svc/admin', '/__svc/admin/api', '/__svc/admin/api/session'])
      document.cookie = 'SVC_ADMIN=' + value + '; domain=example.localhost; path=' + path`,
    )
    const [sent, username] = await Promise.all([admin.waitForRequest('**/session'), userOf(admin)])
    assert.match(
      (await sent.allHeaders())['cookie'] ?? '',
      /SVC_ADMIN=a\.b\.c.*SVC_ADMIN=ey/,
      'the browser sends both, theirs first',
    )
    assert.equal(username, 'alice')
  })

  await t.test('cannot put the session of another user in its place', async () => {
    const { context, admin, page } = await visit()
    const login = await fetch(`${url}/__svc/admin/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'vera', password: PASSWORD }),
    })
    const { token } = (await login.json()) as { readonly token: string }
    await run(page, `document.cookie = 'SVC_ADMIN=${token}; domain=example.localhost; path=/__svc/admin'`)
    const answer = await run<{ readonly status: number; readonly detail: string }>(
      admin,
      `const answer = await fetch('/__svc/admin/api/session'); return { status: answer.status, ...(await answer.json()) }`,
    )
    assert.deepEqual([answer.status, /two users/.test(answer.detail)], [401, true])
    await context.clearCookies({ domain: '.example.localhost' })
    assert.equal(await userOf(admin), 'alice')
  })
})

test('a service worker of a site leaves the host when the panel gets it', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const root = tempSite(t, { ...site, 'public/worker.js': staysThere })
  const config = await configOf(await hashPassword(PASSWORD), root)
  const withoutPanel = config.replace('enabled = true', 'enabled = false').replace(`hosts = ["${PANEL}"]\n`, '')
  const before = withoutPanel.replace('"localhost"]', `"${PANEL}"]`)
  const server = await startServer(t, { config: before })
  const address = server.url.replace('127.0.0.1', PANEL)
  const context = await (await startBrowser(t, executable)).newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(address)
  await run(page, `await navigator.serviceWorker.register('/worker.js'); await navigator.serviceWorker.ready`)
  await page.goto(`${address}/__svc/admin/login`)
  assert.equal(await page.textContent('h1'), 'of the site')

  await server.child.stop()
  const listen = `listen = "${new URL(server.url).host}"`
  await startServer(t, { config: config.replace('listen = "127.0.0.1:0"', listen) })
  await page.goto(`${address}/__svc/admin/login`)
  await page.waitForSelector('[name=username]')
  assert.equal(await run(page, 'return (await navigator.serviceWorker.getRegistrations()).length'), 0)
})
