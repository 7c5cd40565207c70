import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SiteCompiler, SiteResolver } from '@svc/compile'
import { ModuleCache } from '@svc/compile/caches'
import { createLogger } from '@svc/telemetry'
import { tempDir, tempSite } from '@svc/testkit'
import { CachePruner } from '../src/host/cache-pruner.ts'
import type { SiteSpec } from '../src/host/site-runtime.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test('old modules that no site uses are removed, and used ones stay', async (t) => {
  const root = tempSite(t, {
    'page.ts': 'export const a = 1',
    'gone.ts': 'export const b = 2',
    'edited.ts': 'export const c = 3',
  })
  const foreign = tempSite(t, { 'other.ts': 'export const d = 4' })
  const dir = tempDir(t, 'svc-cache')
  const cacheDirs = { modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') }
  const cache = new ModuleCache(cacheDirs)
  const compilerOf = (site: string) =>
    new SiteCompiler({ resolver: new SiteResolver(site), cache, mode: 'production', onLastGood: () => undefined })
  const compiler = compilerOf(root)
  const page = await compiler.load(join(root, 'page.ts'))
  await compiler.load(join(root, 'gone.ts'))
  await compiler.load(join(root, 'edited.ts'))
  writeFileSync(join(root, 'edited.ts'), 'export const c = 33')
  const edited = await compiler.load(join(root, 'edited.ts'))
  await compilerOf(foreign).load(join(foreign, 'other.ts'))
  cache.storeBytecode(page.hash, Buffer.from('code cache'))
  cache.storeBytecode('0'.repeat(64), Buffer.from('of nothing'))
  writeFileSync(join(cacheDirs.modules, 'half.js.tmp'), 'half')
  mkdirSync(join(cacheDirs.modules, 'a-directory'))
  rmSync(join(root, 'gone.ts'))

  const specs = [{ config: { id: 'a', root, public: '' }, thread: { cacheDirs } }] as unknown as SiteSpec[]
  const log = createLogger({ level: 'silent', format: 'json', base: {} })
  const pruner = () => new CachePruner({ specs: () => specs, log: () => log })
  const now = Date.now()
  assert.deepEqual(await pruner().prune(now), { removed: 0, kept: 19 }, 'all of it is younger than an hour')
  assert.equal(await pruner().prune(now + 2 * HOUR_MS), undefined, 'it was done lately')
  const report = await pruner().prune(now + DAY_MS)
  assert.deepEqual(report, { removed: 10, kept: 9 })

  const names = (sub: keyof typeof cacheDirs) => readdirSync(cacheDirs[sub]).sort()
  const kept = [page, edited].flatMap(({ hash }) => [`${hash}.js`, `${hash}.map`])
  assert.deepEqual(names('modules'), ['a-directory', ...kept].sort())
  assert.deepEqual(names('bytecode'), [page.hash])
  assert.ok(existsSync(join(cacheDirs.index, '.pruned')))
  const again = new ModuleCache(cacheDirs)
  assert.equal(again.indexed(join(root, 'page.ts'))?.hash, page.hash)
  assert.equal(again.indexed(join(root, 'gone.ts')), undefined)
})
