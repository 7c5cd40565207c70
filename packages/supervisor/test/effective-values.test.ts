import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Config, type LoadedConfig, loadConfig, pinKeys } from '@svc/config'
import type { GenerationSpec, Override } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir, writeFiles } from '@svc/testkit'
import { Overrides } from '../src/overrides/overrides.ts'
import { EffectiveValues } from '../src/reload/effective-values.ts'
import { reloadPreview } from '../src/reload/reload-preview.ts'

const toml = (workers: number, sites: string) => `[server]\nworkers = ${workers}\n${sites}`
const site = (id: string) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "site"\n`

/** A directory with a configuration that can be changed. */
function configIn(t: Parameters<typeof tempDir>[0]) {
  const dir = tempDir(t)
  writeFiles(dir, { 'site/a.txt': '' })
  const write = (text: string) => writeFileSync(join(dir, 'svc.config.toml'), text)
  const load = () => loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  const good = async (text: string): Promise<LoadedConfig> => {
    write(text)
    const loaded = await load()
    return loaded.ok ? loaded : assert.fail(JSON.stringify(loaded.problems))
  }
  return { dir, write, load, good }
}

const specOf = (loaded: LoadedConfig): GenerationSpec => ({ ...loaded, generation: 1 }) as unknown as GenerationSpec

test('values have the source of the files in service, not of files that failed to come into service', async (t) => {
  const { good } = configIn(t)
  const first = await good(toml(1, site('shop')))
  let spec = specOf(first)
  const set: Override[] = []
  const values = new EffectiveValues({ spec: () => spec, overrides: () => set })
  values.loaded(first)
  values.served(spec)
  const one = (text: string) => values.page({ text, limit: 1, skip: 0 }).values[0]
  assert.match(one('server.workers')?.place ?? '', /svc\.config\.toml:2$/)

  const failed = await good(`\n\n${toml(1, site('shop'))}`)
  values.loaded(failed)
  assert.match(one('server.workers')?.place ?? '', /svc\.config\.toml:2$/)

  const next = await good(`\n${toml(3, site('shop'))}`)
  values.loaded(next)
  spec = { ...specOf(next), config: pinKeys<Config>(next.config, first.config, ['server.workers']) }
  values.served(spec)
  const workers = one('server.workers')
  assert.deepEqual([workers?.value, workers?.after_restart], ['1', '3'])
  assert.match(workers?.place ?? '', /svc\.config\.toml:3$/)
  assert.equal(one('sites.shop.root')?.after_restart, null)

  set.push({ key: 'sites.shop.maintenance', value: true, at: '2026-01-01T00:00:00.000Z', username: 'alice' })
  const { total, values: listed } = values.page({ origin: 'override', limit: 10, skip: 0 })
  assert.deepEqual([total, listed[0]?.key, listed[0]?.place], [1, 'sites.shop.maintenance', 'alice, 2026-01-01T00:00:00.000Z'])
  const all = values.page({ limit: 10_000, skip: 0 })
  assert.equal(values.page({ limit: 2, skip: all.total - 1 }).values.length, 1)
  assert.deepEqual(values.page({ limit: 2, skip: 3 }).values, all.values.slice(3, 5))
})

test('a preview names the changes of a reload with the overrides that end, or its errors with their places', async (t) => {
  const { dir, write, load, good } = configIn(t)
  const logger = createLogger({ level: 'silent', format: 'json' })
  const overrides = await Overrides.open({ stateDir: dir, logger, now: () => 0, variables: {} })
  const served = await overrides.apply(await good(toml(1, site('shop') + site('blog'))))
  const spec = specOf(served)
  await overrides.set('sites.shop.maintenance', { retry_after_secs: 1 }, 'alice', served, async () => {
    return { ok: true, errors: [], generation: 2, changed: {}, needs_restart: [], took_ms: 0 }
  })
  const look = async () => {
    const loaded = await load()
    return reloadPreview(spec, loaded.ok ? await overrides.tryOn(loaded) : loaded)
  }
  const inMaintenance = await look()
  assert.deepEqual([inMaintenance.sites.changed, inMaintenance.values, inMaintenance.ending], [['shop'], [], []])

  write(toml(2, `${site('shop')}maintenance = true\n${site('docs')}`))
  const { sites, values, ending, errors } = await look()
  assert.deepEqual(sites, { added: ['docs'], removed: ['blog'], changed: ['shop'] })
  assert.deepEqual(values[0], { key: 'server.workers', before: '1', after: '2', needs_restart: true })
  assert.deepEqual([ending, errors], [['sites.shop.maintenance'], []])
  assert.equal(overrides.list().length, 1, 'it still holds')

  write(toml(2, 'sites = 1'))
  const broken = await look()
  assert.match(broken.errors[0] ?? '', /svc\.config\.toml:3:1: /)
  assert.deepEqual([broken.values, broken.is_partial], [[], false])
})
