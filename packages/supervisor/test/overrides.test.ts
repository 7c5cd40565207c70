import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SiteConfig } from '@svc/config'
import type { ReloadReport } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { Overrides, readOverrides } from '../src/overrides/overrides.ts'

const KEY = 'sites.shop.maintenance'
const logger = createLogger({ level: 'silent', format: 'json' })
const order = { message: 'back at noon', retry_after_secs: 60 }

type Sites = readonly SiteConfig[]

const sitesOf = (maintenance: boolean): Sites =>
  ['shop', 'blog'].map((id) => ({ id, maintenance: id === 'shop' && maintenance }) as SiteConfig)

const open = (stateDir: string) => Overrides.open({ stateDir, logger, now: () => 0 })

/** Sites in service, as a reloader keeps them. */
class Served {
  sites: Sites = sitesOf(false)
  errors: string[] = []
  readonly change = async (edit: (sites: Sites) => Sites): Promise<ReloadReport> => {
    const ok = this.errors.length === 0
    if (ok) this.sites = edit(this.sites)
    return { ok, errors: this.errors, generation: 1, changed: {}, needs_restart: [], took_ms: 0 }
  }

  get states(): unknown[] {
    return this.sites.map(({ maintenance }) => maintenance)
  }
}

test('a value that was set holds after a restart and a reload, until it is reset', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const first = await open(dir)
  await first.set(KEY, order, 'alice', served.sites, served.change)
  assert.deepEqual(served.states, [order, false])
  const listed = [{ key: KEY, value: order, at: '1970-01-01T00:00:00.000Z', username: 'alice' }]
  assert.deepEqual(first.list(), listed)
  assert.deepEqual(await readOverrides(dir), listed)
  const second = await open(dir)
  assert.deepEqual((await second.apply(sitesOf(false)))[0]?.maintenance, order)
  await second.reset(KEY, served.change)
  assert.deepEqual([served.states, second.list(), await readOverrides(dir)], [[false, false], [], []])
})

test('a second value takes the place of the first, and a reset goes back to the configuration', async (t) => {
  const served = new Served()
  served.sites = sitesOf(true)
  const overrides = await open(tempDir(t))
  await overrides.set(KEY, order, 'alice', served.sites, served.change)
  await overrides.set(KEY, false, 'bob', served.sites, served.change)
  assert.deepEqual(served.states, [false, false])
  assert.equal(overrides.list()[0]?.username, 'bob')
  await overrides.reset(KEY, served.change)
  assert.deepEqual(served.states, [true, false])
})

test('a value ends when the one in the configuration changes, or its site is gone', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const overrides = await open(dir)
  await overrides.set(KEY, order, 'alice', served.sites, served.change)
  assert.equal((await overrides.apply(sitesOf(true)))[0]?.maintenance, true)
  assert.deepEqual([overrides.list(), await readOverrides(dir)], [[], []])
  await overrides.set(KEY, order, 'alice', served.sites, served.change)
  assert.deepEqual(await overrides.apply([]), [])
  assert.deepEqual(await readOverrides(dir), [])
})

test('a value that cannot be put into service is not kept', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const overrides = await open(dir)
  served.errors = ['no worker responds']
  const failure = { code: 'SUP_OVERRIDE', status: 422, message: /no worker responds/ }
  await assert.rejects(overrides.set(KEY, order, 'alice', served.sites, served.change), failure)
  assert.deepEqual([overrides.list(), await readOverrides(dir)], [[], []])
  served.errors = []
  await overrides.set(KEY, order, 'alice', served.sites, served.change)
  served.errors = ['no worker responds']
  await assert.rejects(overrides.reset(KEY, served.change), failure)
  assert.equal((await readOverrides(dir)).length, 1)
})

test('unknown sites and keys are errors', async (t) => {
  const served = new Served()
  const overrides = await open(tempDir(t))
  const set = (key: string) => overrides.set(key, order, 'alice', served.sites, served.change)
  for (const key of ['sites.none.maintenance', 'sites.shop.root', 'server.listen']) {
    await assert.rejects(set(key), { code: 'SUP_UNKNOWN_SITE', status: 404 })
  }
  await assert.rejects(overrides.reset(KEY, served.change), { code: 'SUP_NO_OVERRIDE', message: /nothing is overridden/ })
})

test('a damaged file is kept aside, and the configuration holds', async (t) => {
  for (const text of ['{"sites.shop.mai', '[]', '{"a":1}', '']) {
    const dir = tempDir(t)
    const file = join(dir, 'overrides.json')
    writeFileSync(file, text)
    const overrides = await open(dir)
    assert.deepEqual(overrides.list(), [])
    assert.equal(readFileSync(`${file}.damaged`, 'utf8'), text)
    assert.equal(existsSync(file), false)
  }
})
