// Campaign: operations of the panel in a browser: configuration, purges, silences
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { act, faultsOf, panelTests, settled } from './panel-browser.ts'

const panelTest = panelTests()

panelTest(
  'values in service show their source, and a reload its changes before and its result after it',
  async ({ url, configFile, pageOf }) => {
    const page = await pageOf('alice')
    const faults = faultsOf(page)
    await page.goto(`${url}/__svc/admin/configuration?q=server.workers`)
    await settled(page)
    await page.waitForSelector('text="The files have what is in service."')
    const row = '[aria-label="Values in service: table"] tr:has(code:text-is("server.workers"))'
    await page.waitForSelector(`${row}:has-text("svc.config.toml:")`)
    await page.selectOption('.section select', { label: 'a default' })
    await page.waitForSelector('text="No value fits."')
    await page.goto(`${url}/__svc/admin/configuration?q=jwt`)
    await page.waitForSelector('tr:has(code:text-is("admin.jwt_secret")) code:text-is(\'"***"\')')

    const before = readFileSync(configFile, 'utf8')
    writeFileSync(configFile, before.replace('workers = 1', 'workers = 2').replace('id = "blog"', 'id = "journal"'))
    await page.click('button:text-is("Compare again")')
    await page.waitForSelector('[aria-label="Values to change: table"] tr:has-text("server.workers"):has-text("after a restart")')
    await page.waitForSelector('.facts div:has-text("Sites to add"):has-text("journal")')
    await act(page, 'Reload the configuration', 'These take effect after a restart: server.workers.')
    await page.goto(`${url}/__svc/admin/configuration?q=server.workers`)
    await page.waitForSelector(`${row}:has-text("2 after a restart")`)

    writeFileSync(configFile, before.replace('workers = 1', 'wrokers = 1'))
    await page.click('button:text-is("Compare again")')
    await page.waitForSelector('[role=alert] code:has-text("svc.config.toml:")')
    await page.click('button:text-is("Reload the configuration")')
    await page.click('dialog .buttons button:text-is("Reload the configuration")')
    await page.waitForSelector('dialog [role=alert]:has-text("reload_failed") code:has-text("wrokers")')
    await page.keyboard.press('Escape')
    writeFileSync(configFile, before)
    await page.click('button:text-is("Compare again")')
    await act(page, 'Reload the configuration', 'is in service')
    await page.waitForSelector('text="The files have what is in service."')
    assert.deepEqual(faults, [])
  },
)
