import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Config, SiteConfig } from '@svc/config'
import type { ReloadReport } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { Overrides, readOverrides } from '../src/overrides/overrides.ts'
import type { Overridable } from '../src/overrides/setting.ts'

const KEY = 'sites.shop.maintenance'
const logger = createLogger({ level: 'silent', format: 'json' })
const order = { message: 'back at noon', retry_after_secs: 60 }

type Sites = readonly SiteConfig[]

const sitesOf = (maintenance: boolean): Sites =>
  ['shop', 'blog'].map((id) => ({ id, maintenance: id === 'shop' && maintenance }) as SiteConfig)

const NO_UPSTREAMS = { upstreams: [] }
const loaded = (sites: Sites, web: Overridable['web'] = NO_UPSTREAMS) => ({
  sites,
  web,
  config: { env: {}, sites: [], tasks: [{ name: 'a.b', enabled: true }] } as unknown as Config,
  secretNames: [],
})

async function open(stateDir: string): Promise<Overrides> {
  const overrides = await Overrides.open({ stateDir, logger, now: () => 0, variables: {} })
  await overrides.apply(loaded(sitesOf(false)))
  return overrides
}

/** The configuration in service, as a reloader keeps it. */
class Served {
  sites: Sites = sitesOf(false)
  web: Overridable['web'] = NO_UPSTREAMS
  config: Overridable['config'] = loaded(this.sites).config
  errors: string[] = []
  readonly change = async (edit: (served: Overridable) => Promise<Overridable>): Promise<ReloadReport> => {
    const ok = this.errors.length === 0
    if (ok) Object.assign(this, await edit({ config: this.config, sites: this.sites, web: this.web }))
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
  await first.set(KEY, order, 'alice', served, served.change)
  assert.deepEqual(served.states, [order, false])
  const listed = [{ key: KEY, value: order, at: '1970-01-01T00:00:00.000Z', username: 'alice' }]
  assert.deepEqual(first.list(), listed)
  assert.deepEqual(await readOverrides(dir), listed)
  const second = await open(dir)
  assert.deepEqual((await second.apply(loaded(sitesOf(false)))).sites[0]?.maintenance, order)
  await second.reset(KEY, served.change)
  assert.deepEqual([served.states, second.list(), await readOverrides(dir)], [[false, false], [], []])
})

test('a second value takes the place of the first, and a reset goes back to the configuration', async (t) => {
  const served = new Served()
  served.sites = sitesOf(true)
  const overrides = await open(tempDir(t))
  await overrides.set(KEY, order, 'alice', served, served.change)
  await overrides.set(KEY, false, 'bob', served, served.change)
  assert.deepEqual(served.states, [false, false])
  assert.equal(overrides.list()[0]?.username, 'bob')
  await overrides.reset(KEY, served.change)
  assert.deepEqual(served.states, [true, false])
})

test('a value ends when the one in the configuration changes, or its site is gone', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const overrides = await open(dir)
  await overrides.set(KEY, order, 'alice', served, served.change)
  const changed = await overrides.apply(loaded(sitesOf(true)))
  assert.equal(changed.sites[0]?.maintenance, true)
  await overrides.settle(changed)
  assert.deepEqual([overrides.list(), await readOverrides(dir)], [[], []])
  await overrides.set(KEY, order, 'alice', served, served.change)
  const gone = await overrides.apply(loaded([]))
  assert.deepEqual(gone.sites, [])
  await overrides.settle(gone)
  assert.deepEqual(await readOverrides(dir), [])
})

test('a value goes on when a configuration that would end it is not put into service', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const overrides = await open(dir)
  await overrides.set(KEY, order, 'alice', served, served.change)
  await overrides.apply(loaded(sitesOf(true)))
  // Another change is served, and the reload before has failed.
  await overrides.settle({ sites: sitesOf(false) })
  assert.equal((await readOverrides(dir)).length, 1)
  assert.deepEqual((await overrides.apply(loaded(sitesOf(false)))).sites[0]?.maintenance, order)
})

test('a value that cannot be put into service is not kept', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const overrides = await open(dir)
  served.errors = ['no worker responds']
  const failure = { code: 'SUP_OVERRIDE', status: 422, message: /no worker responds/ }
  await assert.rejects(overrides.set(KEY, order, 'alice', served, served.change), failure)
  assert.deepEqual([overrides.list(), await readOverrides(dir)], [[], []])
  served.errors = []
  await overrides.set(KEY, order, 'alice', served, served.change)
  served.errors = ['no worker responds']
  await assert.rejects(overrides.reset(KEY, served.change), failure)
  assert.equal((await readOverrides(dir)).length, 1)
})

const DOWN_KEY = 'upstreams.app.v1.10.0.0.1:80.down'
const server = (address: string, isDown = false) => ({
  address,
  weight: 1,
  maxFails: 1,
  failTimeoutMs: 10_000,
  isBackup: false,
  isDown,
})
const groupOf = (name: string, ...servers: ReturnType<typeof server>[]): Overridable['web']['upstreams'][number] => ({
  name,
  balance: 'round_robin',
  keepalive: undefined,
  servers,
})
const downOf = ({ upstreams }: Overridable['web']) => upstreams.map(({ servers }) => servers.map(({ isDown }) => isDown))

test('a server of a group with dots in its name is down, also after a restart, until the file says otherwise', async (t) => {
  const dir = tempDir(t)
  const served = new Served()
  const web = { upstreams: [groupOf('app.v1', server('10.0.0.1:80'), server('10.0.0.2:80')), groupOf('app', server('x:80'))] }
  served.web = web
  const first = await open(dir)
  await first.set(DOWN_KEY, true, 'alice', served, served.change)
  assert.deepEqual(
    [downOf(served.web), downOf(web)],
    [
      [[true, false], [false]],
      [[false, false], [false]],
    ],
  )
  const again = await open(dir)
  assert.deepEqual(downOf((await again.apply(loaded(served.sites, web))).web), [[true, false], [false]])
  const other = { upstreams: [groupOf('app.v1', server('10.0.0.1:80', true), server('10.0.0.2:80'))] }
  const changed = await again.apply(loaded(served.sites, other))
  await again.settle(changed)
  assert.deepEqual([downOf(changed.web), again.list()], [[[true, false]], []])
})

test('a server that the file has down is up by an order, and down again after its reset', async (t) => {
  const served = new Served()
  served.web = { upstreams: [groupOf('app.v1', server('10.0.0.1:80', true))] }
  const overrides = await open(tempDir(t))
  await overrides.set(DOWN_KEY, false, 'alice', served, served.change)
  assert.deepEqual(downOf(served.web), [[false]])
  await overrides.reset(DOWN_KEY, served.change)
  assert.deepEqual(downOf(served.web), [[true]])
})

test('servers of a group with one address are down one by one, and the address alone names none of them', async (t) => {
  const served = new Served()
  served.web = { upstreams: [groupOf('app.v1', server('10.0.0.1:80'), server('x:80'), server('10.0.0.1:80', true))] }
  const overrides = await open(tempDir(t))
  const set = (id: string, isDown: boolean) =>
    overrides.set(`upstreams.app.v1.${id}.down`, isDown, 'alice', served, served.change)
  const means = /means several servers: 10\.0\.0\.1:80~1, 10\.0\.0\.1:80~2/
  await assert.rejects(set('10.0.0.1:80', true), { code: 'SUP_OVERRIDE', message: means })
  await assert.rejects(set('10.0.0.1:80~3', true), { code: 'UNKNOWN_UPSTREAM' })
  await set('10.0.0.1:80~1', true)
  await set('10.0.0.1:80~2', false)
  assert.deepEqual(downOf(served.web), [[true, false, false]])
  await overrides.reset('upstreams.app.v1.10.0.0.1:80~1.down', served.change)
  await overrides.reset('upstreams.app.v1.10.0.0.1:80~2.down', served.change)
  assert.deepEqual([downOf(served.web), overrides.list()], [[[false, false, true]], []])
})

test('unknown groups and servers, and a key that means servers of two groups, are errors', async (t) => {
  const served = new Served()
  served.web = { upstreams: [groupOf('app', server('v1.10.0.0.1:80')), groupOf('app.v1', server('10.0.0.1:80'))] }
  const overrides = await open(tempDir(t))
  const set = (key: string, value: unknown) => overrides.set(key, value, 'alice', served, served.change)
  for (const key of ['upstreams.app.10.0.0.1:80.down', 'upstreams.none.10.0.0.1:80.down', 'upstreams.app.down'])
    await assert.rejects(set(key, true), { code: 'UNKNOWN_UPSTREAM', status: 404 })
  await assert.rejects(set(DOWN_KEY, true), { code: 'SUP_OVERRIDE', message: /means servers of 2 groups/ })
  served.web = { upstreams: [groupOf('app.v1', server('10.0.0.1:80'))] }
  await assert.rejects(set(DOWN_KEY, 'yes'), { code: 'SUP_OVERRIDE', message: /must be true or false/ })
  assert.deepEqual([downOf(served.web), overrides.list()], [[[false]], []])
})

test('unknown sites and keys are errors', async (t) => {
  const served = new Served()
  const overrides = await open(tempDir(t))
  const set = (key: string) => overrides.set(key, order, 'alice', served, served.change)
  for (const key of ['sites.none.maintenance', 'sites.shop.root', 'server.listen']) {
    await assert.rejects(set(key), { code: 'SUP_UNKNOWN_SITE', status: 404 })
  }
  await assert.rejects(overrides.reset(KEY, served.change), { code: 'SUP_NO_OVERRIDE', message: /nothing is overridden/ })
})

test('a release moves a site with its public directory and its .env, but not a public directory elsewhere', async (t) => {
  const [old, next, other] = [tempDir(t), tempDir(t), tempDir(t)]
  writeFileSync(join(next, '.env'), 'COLOUR=green\nSIZE=2\nSECRET=mine\nSVC_KEY=mine\n')
  const sites = [
    { id: 'shop.test', root: old, public: join(old, 'static'), env: { COLOUR: 'red' }, mode: 'production' },
    { id: 'blog', root: old, public: other, env: {}, mode: 'production' },
  ] as unknown as Sites
  const config = { env: { SIZE: '1' }, sites: [{ id: 'shop.test', env: { COLOUR: 'red' } }] } as unknown as Config
  const served = new Served()
  served.sites = sites
  const variables = { SECRET: 'of the server', SVC_KEY: 'of the server' }
  const overrides = await Overrides.open({ stateDir: tempDir(t), logger, now: () => 0, variables })
  await overrides.apply({ sites, web: NO_UPSTREAMS, config, secretNames: ['SECRET'] })
  for (const { id } of sites) await overrides.set(`sites.${id}.release`, { id: 'r1', root: next }, 'alice', served, served.change)
  const [shop, blog] = served.sites
  const env = { COLOUR: 'red', SIZE: '1', SECRET: 'mine', SVC_KEY: 'mine', NODE_ENV: 'production' }
  assert.deepEqual([shop?.root, shop?.public, shop?.env], [next, join(next, 'static'), env])
  assert.deepEqual([blog?.root, blog?.public], [next, other])
  await overrides.reset('sites.shop.test.release', served.change)
  assert.deepEqual([served.sites[0]?.root, served.sites[0]?.public], [old, join(old, 'static')])
})

test('a release whose directory is gone ends at the next start', async (t) => {
  const [dir, root, next] = [tempDir(t), tempDir(t), tempDir(t)]
  const sites = [{ id: 'shop', root, public: join(root, 'public'), env: {}, mode: 'production' }] as unknown as Sites
  const served = new Served()
  served.sites = sites
  const overrides = await open(dir)
  await overrides.set('sites.shop.release', { id: 'r1', root: next }, 'alice', served, served.change)
  rmSync(next, { recursive: true })
  const again = await Overrides.open({ stateDir: dir, logger, now: () => 0, variables: {} })
  const applied = await again.apply(loaded(sites))
  assert.equal(applied.sites[0]?.root, root)
  await again.settle(applied)
  assert.deepEqual(again.list(), [])
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

test('a file that is too large is not read, but kept aside', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'overrides.json')
  writeFileSync(file, '{}')
  truncateSync(file, 17 * 1024 * 1024)
  await assert.rejects(readOverrides(dir), { code: 'CORE_FILE_REFUSED', message: /the limit is 16777216/ })
  assert.deepEqual((await open(dir)).list(), [])
  assert.equal(statSync(`${file}.damaged`).size, 17 * 1024 * 1024)
})
