// Campaign: pages of the panel in a browser: keyboard, hostile data, ends of sessions, restarts
import assert from 'node:assert/strict'
import { fetchHttp, waitFor } from '@svc/testkit'
import type { Route } from 'playwright-core'
import { act, faultsOf, HOSTILE, logIn, panelTests, paths, settled, startPanel, violationsOf } from './panel-browser.ts'

const panelTest = panelTests()

panelTest('by keyboard alone: find a site, read its tabs, carry out an action, and come back', async ({ pageOf }) => {
  const page = await pageOf('alice')
  await settled(page)
  await page.keyboard.press('Tab')
  assert.equal(await page.textContent(':focus'), 'Skip to the content')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate('document.activeElement.id'), 'main')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Control+k')
  await page.waitForSelector('dialog [role=option]:has-text("shop")')
  await page.keyboard.type('shop')
  await page.waitForSelector('[role=option][aria-selected=true]:has-text("shop")')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/site?id=shop')
  await settled(page)
  assert.equal(await page.evaluate('document.activeElement.id'), 'main', 'the new page has the focus')
  await page.focus('[role=tab][aria-selected=true]')
  await page.keyboard.press('ArrowRight')
  await page.waitForURL('**/site?id=shop&tab=routes')
  await page.waitForSelector('[role=tabpanel] td:has-text("/")')
  await page.focus('button:text-is("Purge pages")')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog:has-text("Drops all rendered pages of shop")')
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })
  assert.equal(await page.textContent(':focus'), 'Purge pages', 'the focus is where it was')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog button:focus:text-is("Cancel")')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog:has-text("1 of 1 worker confirmed")')
  await page.goBack()
  await page.waitForURL((place) => !place.href.includes('/site?'))
})

panelTest(
  'processes, tasks, upstreams, sessions: each action by keyboard alone, and it is in the audit',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    const visitor = await pageOf('vera')
    const open = async (path: string) => {
      await page.goto(`${url}/__svc/admin/${path}`)
      await settled(page)
    }
    await open('workers')
    await act(page, 'Restart render hosts', 'replaced.')
    await open('tasks')
    await act(page, 'Run now', 'its result appears in the list of runs')
    await page.click('td button:text-is("nightly")')
    await page.waitForSelector('[aria-label="Runs of nightly: table"] td:has-text("ok (200)")')
    await act(page, 'Disable', 'nightly is disabled.')
    await act(page, 'Enable', 'nightly is enabled.')
    await fetchHttp(`${url}/api/x`, { host: 'blog.localhost' })
    await open('upstreams')
    await act(page, 'Take down', 'is down.')
    await act(page, 'Put back', 'is in service.')
    await open('users')
    const row = page.locator('tr', { hasText: 'vera' }).first()
    await row.locator('button:text-is("End session")').focus()
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog:has-text("Ends this session of vera")')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog .result:has-text("The session of vera has ended")')
    await visitor.goto(`${url}/__svc/admin/sites`)
    await visitor.waitForURL('**/login*')
    await open('audit?q=tasks')
    await page.waitForSelector('td:has-text("POST tasks/:name/run")')
    assert.equal(await page.locator('td:has-text("workers/restart")').count(), 0, 'the filter holds')
    await open('audit?result=ok&user=alice')
    for (const action of ['workers/restart', 'upstreams/:name/:server', 'sessions/:jti']) {
      await page.waitForSelector(`td:has-text("${action}")`)
    }
  },
)

panelTest(
  'the entry behind a path is found, shown and dropped; a tag is purged, with the number of pages before',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    const entries = async () => {
      const answer = await page.evaluate("fetch('/__svc/admin/api/cache/entries?site=shop').then((answer) => answer.json())")
      return (answer as { readonly entries: readonly { readonly path: string }[] }).entries.map(({ path }) => path)
    }
    const made = async () => {
      await fetchHttp(`${url}/`, { host: 'shop.localhost' })
      await waitFor('the page in the store', async () => (await entries()).includes('/'))
    }
    await made()
    await page.goto(`${url}/__svc/admin/caches?site=shop`)
    await settled(page)
    await page.click('td button:text-is("/")')
    await page.waitForSelector('figure:has-text("Body (utf8)") pre:has-text("<h1>shop</h1>")')
    await act(page, 'Drop this entry', 'Dropped 1 entry')
    await waitFor('the entry to be gone', async () => (await entries()).length === 0)
    await made()
    await page.goto(`${url}/__svc/admin/caches?tag=${encodeURIComponent('/')}`)
    await settled(page)
    await page.focus('button:text-is("Purge tag")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog:has-text("Drops 1 page ("):has-text("with the tag /.")')
    await page.keyboard.press('Escape')
    await act(page, 'Purge tag', 'Dropped 1 page')
    await waitFor('the page to be gone', async () => (await entries()).length === 0)
    const analytics = "fetch('/__svc/obs/analytics?window=5m').then((answer) => answer.text())"
    await waitFor('the path in the figures', async () => String(await page.evaluate(analytics)).includes('"name":"/"'))
    await page.goto(`${url}/__svc/admin/traffic?window=5m`)
    await page.waitForSelector('[aria-label="Top paths: table"] span:text-is("/")')
  },
)

panelTest('a request is tried against the firewall, whose mode is changed by keyboard', async ({ url, pageOf }) => {
  const page = await pageOf('alice')
  await page.goto(`${url}/__svc/admin/waf`)
  await settled(page)
  await act(page, 'Set mode off', 'The mode is off.')
  await page.getByLabel('Path with query').focus()
  await page.keyboard.type('/?file=../../../../etc/passwd')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[role=status]:has-text("No rule matches")')
  await act(page, 'Set mode block', 'The mode is block.')
  await page.waitForSelector('.section:has-text("get 403")')
})

panelTest(
  'the log lines of a request are one step from it, and new lines appear by themselves unless paused',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    assert.equal(await page.evaluate(maintenance(true)), 200)
    await fetchHttp(`${url}/for-the-log`, { host: 'shop.localhost' })
    assert.equal(await page.evaluate(maintenance(false)), 200)
    await page.goto(`${url}/__svc/admin/flows?reason=failed`)
    await page.click('td button:has-text("/for-the-log")')
    await page.click('a:text-is("Log lines of this request")')
    await page.waitForURL('**/logs?q=*')
    await page.goto(`${url}/__svc/admin/logs?q=bad_log_login`)
    await page.waitForSelector('text="No line matches."')
    await page.goto(`${url}/__svc/admin/logs?q=reload`)
    await page.waitForSelector('.section .status:has-text("Live")')
    const reload = await fetchHttp(`${url}/__svc/api/reload`, { method: 'POST' })
    assert.equal(reload.status, 200, reload.text)
    await page.click('[aria-label="Log lines: table"] td button:has-text("reload")')
    await page.waitForSelector('figure:has-text("master")')
    await page.getByLabel('Live updates').selectOption('no')
    await page.waitForSelector('[role=status]:text-is("Paused")')
  },
)

/** Adds markup to every text of an answer that is no time. */
function hostile(value: unknown): unknown {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/.test(value) ? value : `${value}${HOSTILE}`
  if (Array.isArray(value)) return value.map(hostile)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, hostile(inner)]))
}

panelTest('markup in any text of any answer stays text on every page', async ({ url, pageOf }) => {
  const page = await pageOf('alice')
  const faults = faultsOf(page)
  const isData = ({ href }: URL) => /\/__svc\/(?:admin\/api|obs)\//.test(href) && !/stream|dashboard/.test(href)
  await page.route(isData, async (route: Route) => {
    const response = await route.fetch()
    const json: unknown = await response.json()
    await route.fulfill({ response, json: response.ok() ? hostile(json) : json })
  })
  for (const path of paths) {
    await page.goto(url + path)
    await settled(page)
    assert.equal(await page.locator('img').count(), 0, path)
  }
  await page.goto(`${url}/__svc/admin/sites`)
  await page.waitForSelector(`td:has-text("shop${HOSTILE}")`)
  await page.goto(`${url}/__svc/admin/sites?q=${encodeURIComponent(HOSTILE)}`)
  await page.waitForSelector('text="No site matches the filters."')
  assert.equal(await page.inputValue('[type=search]'), HOSTILE)
  await page.goto(`${url}/__svc/admin/site?id=${encodeURIComponent(HOSTILE)}`)
  await page.waitForSelector(`[role=alert]:has-text("${HOSTILE}")`)
  assert.equal(await page.locator('img').count(), 0)
  assert.deepEqual(faults, [])
})

/** Expression of the browser. */
function maintenance(enabled: boolean): string {
  const headers = { 'x-svc-request': '1', 'content-type': 'application/json' }
  const request = { method: 'PUT', headers, body: JSON.stringify({ enabled }) }
  return `fetch('/__svc/admin/api/sites/shop/maintenance', ${JSON.stringify(request)}).then(({ status }) => status)`
}

panelTest(
  'a path that a visitor made up stays text in the recorded requests, and later ones appear by themselves',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    const faults = faultsOf(page)
    assert.equal(await page.evaluate(maintenance(true)), 200)
    await fetchHttp(`${url}/${encodeURIComponent(HOSTILE)}`, { host: 'shop.localhost' })
    await page.goto(`${url}/__svc/admin/flows?reason=failed`)
    await page.click('td button:has-text("onerror")')
    await page.waitForSelector('.waterfall tbody tr')
    assert.match(page.url(), /[?&]request=/)
    assert.equal(await page.locator('img').count(), 0)
    await page.reload()
    await page.waitForSelector('.waterfall tbody tr')
    await page.waitForSelector('.section .status:has-text("Live")')
    await fetchHttp(`${url}/made-up-later`, { host: 'shop.localhost' })
    await page.waitForSelector('tbody tr:nth-child(1) button:has-text("/made-up-later")')
    assert.equal(await page.evaluate(maintenance(false)), 200)
    assert.deepEqual(faults, [])
  },
)

panelTest('a session that ends in the middle of work loses nothing that was typed', async ({ url, pageOf }) => {
  const page = await pageOf('alice')
  await page.goto(`${url}/__svc/admin/sites`)
  await page.fill('[type=search]', 'bl')
  await page.waitForSelector('text="1 of 2 sites"')
  await page.evaluate('globalThis.isSamePage = true')
  await page.context().clearCookies()
  await page.keyboard.press('Control+k')
  await page.waitForSelector('dialog:has-text("The session has ended")')
  assert.equal(await page.inputValue('dialog [name=username]'), 'alice')
  await logIn(page, 'alice', 'wrong')
  await page.waitForSelector('dialog [role=alert]:has-text("is wrong")')
  await logIn(page, 'alice')
  await page.waitForSelector('dialog:has-text("The session has ended")', { state: 'detached' })
  await page.waitForSelector('[role=option]:has-text("blog")')
  await page.keyboard.press('Escape')
  assert.equal(await page.inputValue('[type=search]'), 'bl')
  assert.equal(await page.evaluate('globalThis.isSamePage'), true)
})

panelTest('a server that restarts under an open page makes it stale, and then live again by itself', async ({ pageOf }, t) => {
  const server = await startPanel(t)
  const page = await pageOf('alice', server.url)
  await page.waitForSelector('.liveness:has-text("Live")')
  await page.evaluate('globalThis.isSamePage = true')
  await server.child.kill()
  await page.waitForSelector('.liveness:has-text("Stale since")')
  await startPanel(t, { listen: new URL(server.url).host })
  await page.waitForSelector('.liveness:has-text("Live")', { timeout: 60_000 })
  assert.equal(await page.evaluate('globalThis.isSamePage'), true)
})

panelTest('a viewer sees no action, and a tenant_admin its own sites alone', async ({ url, pageOf }) => {
  const vera = await pageOf('vera')
  await vera.goto(`${url}/__svc/admin/site?id=shop`)
  await vera.waitForSelector('.facts')
  assert.equal(await vera.locator('button:has-text("Purge"), button:has-text("Flush"), button:has-text("aintenance")').count(), 0)
  const tom = await pageOf('tom')
  await settled(tom)
  await tom.goto(`${url}/__svc/admin/sites`)
  await tom.waitForSelector('text="1 site"')
  await tom.goto(`${url}/__svc/admin/site?id=blog`)
  await tom.waitForSelector('[role=alert]:has-text("no site has the id")')
  await tom.goto(`${url}/__svc/admin/site?id=shop`)
  await tom.waitForSelector('button:text-is("Purge pages")')
})

panelTest(
  'a table of a thousand sites draws those in view, loads more at its end, sorts them all, and keeps the order in its address',
  async ({ url, pageOf }) => {
    const page = await pageOf('alice')
    const site = {
      label: 'x',
      hostnames: ['x.test'],
      root: '/srv/x',
      process: 'shared',
      tenant: null,
      state: 'ok',
      generation: 1,
    }
    const sites = Array.from({ length: 1000 }, (_, index) => ({ ...site, id: `site-${String(index).padStart(4, '0')}` }))
    // As the server does: words of the query, and pages.
    await page.route('**/__svc/admin/api/sites*', (route) => {
      const { searchParams: query } = new URL(route.request().url())
      const found = sites.filter(({ id }) => id.includes(query.get('q') ?? ''))
      const start = Number(query.get('cursor') ?? 0)
      const cursor = start + 300 < found.length ? `${start + 300}` : null
      const counts = { total: found.length, all: sites.length, cursor }
      return route.fulfill({ json: { ok: true, sites: found.slice(start, start + 300), ...counts } })
    })
    await page.goto(`${url}/__svc/admin/sites`)
    await page.waitForSelector('td:has-text("site-0000")')
    assert.ok((await page.locator('tbody tr').count()) < 60)
    const toEnd = () => page.evaluate(`document.querySelector('.table-box').scrollTo(0, 1e6)`)
    await toEnd()
    await page.waitForSelector('[role=status]:has-text("600 rows loaded")')
    await page.focus('button:text-is("Load more")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[role=status]:has-text("900 rows loaded")')
    await waitFor('the last site to be loaded and in view', async () => {
      await toEnd()
      return (await page.locator('td:has-text("site-0999")').count()) === 1
    })
    assert.equal(await page.locator('button:text-is("Load more")').count(), 0)
    assert.equal(await page.getAttribute('tr:has(td:has-text("site-0999"))', 'aria-rowindex'), '1001')
    await page.click('th button:text-is("Site")')
    await page.click('th button:has-text("Site")')
    await page.waitForURL('**/sites?sort=-id')
    await page.reload()
    await page.waitForSelector('tbody tr:nth-child(1):has-text("site-0999")')
    await page.fill('[type=search]', '0500')
    await page.waitForSelector('text="1 of 1,000 sites"')
  },
)

panelTest('on a phone the navigation is a drawer, and colours chosen there outlast a reload', async ({ url, pageOf }) => {
  const page = await pageOf('alice')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto(`${url}/__svc/admin`)
  await settled(page)
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  assert.equal(await page.isVisible('#rail'), false)
  await page.focus('button:text-is("Menu")')
  await page.keyboard.press('Enter')
  assert.equal(await page.isVisible('#rail'), true)
  assert.deepEqual(await violationsOf(page), [])
  await page.selectOption('#theme', 'dark')
  const dark = await background()
  assert.notEqual(dark, light)
  await page.keyboard.press('Escape')
  await page.waitForSelector('#rail', { state: 'hidden' })
  await page.click('button:text-is("Menu")')
  await page.click('#rail a:text-is("Sites")')
  await page.waitForURL('**/__svc/admin/sites')
  await page.waitForSelector('#rail', { state: 'hidden' })
  await page.reload()
  await settled(page)
  assert.equal(await background(), dark)
})
