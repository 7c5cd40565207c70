import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, requireProgram, startBrowser, startServer, tempSite, waitFor } from '@svc/testkit'
import type { Page } from 'playwright-core'
import { hashPassword } from '../packages/auth/src/index.ts'

/** Expression of the browser: the texts of a page that are hard to read (contrast below 4.5, WCAG 2.2, 1.4.3). */
const FAINT_TEXTS = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number)
  const probe = document.body.appendChild(document.createElement('div'))
  probe.style.backgroundColor = 'Canvas'
  const canvas = getComputedStyle(probe).backgroundColor
  probe.remove()
  const luminance = (color) => {
    const [red, green, blue] = numbers(color).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const backgroundOf = (element) => {
    if (element === null) return canvas
    const { backgroundColor } = getComputedStyle(element)
    return numbers(backgroundColor)[3] === 0 ? backgroundOf(element.parentElement) : backgroundColor
  }
  const hasText = ({ childNodes }) => [...childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '')
  return [...document.body.querySelectorAll(':not(noscript, option)')].filter(hasText).flatMap((element) => {
    const [one, other] = [getComputedStyle(element).color, backgroundOf(element)].map(luminance).sort((a, b) => b - a)
    const ratio = (one + 0.05) / (other + 0.05)
    return ratio < 4.5 ? [element.outerHTML.slice(0, 80) + ': ' + ratio.toFixed(1)] : []
  })
})()`

async function checkDashboard(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/__svc/admin`)
  const summaries: string[] = []
  page.on('request', (request) => request.url().includes('/obs/summary') && summaries.push(request.url()))
  const streamed = page.waitForResponse('**/obs/summary?stream=1')
  await page.click('text="Dashboard"')
  await page.waitForURL('**/__svc/obs/dashboard')
  assert.equal((await streamed).headers()['content-type'], 'text/event-stream')
  await page.waitForSelector('[data-alerts] tr:has-text("uptime"):has-text("firing")')
  assert.equal(await page.textContent('[role=status]'), '1 alert fires.')
  await page.waitForSelector('[data-now] dt:has-text("Workers")')
  await page.waitForSelector('[data-slos] tr:has-text("shop-up"):has-text("99.9 % in 30 d")')
  await page.waitForSelector('[data-sites] tr:has-text("shop") svg[role=img]')
  await page.focus('select[name=site]')
  // By keyboard alone. Requests are reported every five seconds.
  await page.keyboard.press('ArrowDown')
  const counted = () => page.evaluate("Number(document.querySelector('[data-traffic] dd').textContent) > 0")
  await waitFor('the requests to the site to be counted', async () => {
    const loaded = page.waitForResponse('**/obs/analytics?site=shop&window=*')
    await page.focus('select[name=window]')
    await page.keyboard.press((await page.inputValue('select[name=window]')) === '1h' ? 'ArrowUp' : 'ArrowDown')
    await loaded
    return counted()
  })
  // The end of its worker ends the stream: the page connects again by itself, and polls at no time.
  await page.evaluate(`fetch('/__svc/admin/api/workers/w1/restart', { method: 'POST', headers: { 'x-svc-request': '1' } })`)
  await waitFor('another stream', () => summaries.length > 1, PROCESS_WAIT_MS)
  assert.deepEqual([...new Set(summaries)], [`${url}/__svc/obs/summary?stream=1`])
  await page.focus('[data-follow]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[data-log] div:has-text("warn master an alert fires")')
  await page.waitForFunction('logSource.readyState === 1')
  const reload = `fetch('/__svc/admin/api/reload', { method: 'POST', headers: { 'x-svc-request': '1' } })`
  await Promise.all([page.waitForSelector('[data-log] div:has-text("info master reloaded")'), page.evaluate(reload)])
  await page.keyboard.press('Enter')
  assert.equal(await page.getAttribute('[data-follow]', 'aria-pressed'), 'false')
  const flow = '[data-flows] details:has-text("GET /a.txt: 503")'
  await page.focus(`${flow} summary`)
  await page.keyboard.press('Enter')
  await page.waitForSelector(`${flow}[open] svg[role=img]`)
  assert.match((await page.textContent(`${flow} tbody`)) ?? '', /router/)
  await page.focus('[data-pause]')
  await page.keyboard.press('Enter')
  assert.equal(await page.getAttribute('[data-pause]', 'aria-pressed'), 'true')
  await page.setViewportSize({ width: 360, height: 640 })
  assert.ok(
    await page.evaluate('document.documentElement.scrollWidth <= 360'),
    'a phone shows the page without scrolling sideways',
  )
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await page.evaluate(FAINT_TEXTS), [], colorScheme)
  }
}

test('in a browser: log in, take a site out of service and back, log out', async (t) => {
  const executable = requireProgram(t, 'chromium')
  if (executable === undefined) return
  const config = `[server]
listen = "127.0.0.1:0"
workers = 1
[admin]
enabled = true
jwt_secret = "0123456789abcdef0123456789abcdef"
[[admin.users]]
username = "alice"
password_hash = "${await hashPassword('correct horse')}"
role = "super_admin"
[[sites]]
id = "shop"
hostnames = ["shop.localhost"]
root = "${tempSite(t, { 'public/a.txt': 'open' })}"


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
`
  const server = await startServer(t, { config })
  const statusOfSite = async () => (await fetchHttp(`${server.url}/a.txt`, { host: 'shop.localhost' })).status
  const browser = await startBrowser(t, executable)
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (line) => /Content Security Policy/i.test(line.text()) && faults.push(line.text()))
  page.on('dialog', (dialog) => dialog.accept())

  await page.goto(`${server.url}/`)
  assert.match(page.url(), /\/__svc\/admin\/login$/)
  await page.fill('[name=username]', 'alice')
  await page.fill('[name=password]', 'wrong')
  await page.click('button')
  await page.waitForSelector('[data-result]:has-text("is wrong")')
  await page.fill('[name=password]', 'correct horse')
  await page.click('button')
  await page.waitForURL('**/__svc/admin')
  assert.match((await page.textContent('header')) ?? '', /alice \(super_admin\)/)
  assert.equal(await statusOfSite(), 200)

  await page.click('text="Maintenance on"')
  await page.waitForSelector('text="Maintenance off"')
  assert.equal(await statusOfSite(), 503)
  await page.click('text="Maintenance off"')
  await page.waitForSelector('text="Maintenance on"')
  assert.equal(await statusOfSite(), 200)

  await checkDashboard(page, server.url)
  await page.goto(`${server.url}/__svc/admin`)

  await page.click('text="Log out"')
  await page.waitForURL('**/login')
  await page.goto(`${server.url}/__svc/admin`)
  assert.match(page.url(), /\/login$/)
  assert.deepEqual(faults, [])
})
