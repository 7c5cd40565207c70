import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, requireProgram, startBrowser, startServer, tempSite } from '@svc/testkit'
import { hashPassword } from '../packages/auth/src/index.ts'

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
`
  const server = await startServer(t, { config })
  const statusOfSite = async () => (await fetchHttp(`${server.url}/a.txt`, { host: 'shop.localhost' })).status
  const browser = await startBrowser(t, executable)
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
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

  await page.click('text="Log out"')
  await page.waitForURL('**/login')
  await page.goto(`${server.url}/__svc/admin`)
  assert.match(page.url(), /\/login$/)
  assert.deepEqual(faults, [])
})
