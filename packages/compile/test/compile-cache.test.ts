import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { codeOf } from '@svc/core'
import { tempDir, tempSite, writeFiles } from '@svc/testkit'
import { ModuleCache } from '../src/caches.ts'
import { SiteCompiler, SiteResolver } from '../src/index.ts'
import { ResolverFiles } from '../src/resolver-files.ts'

function setup(t: TestContext, files: Record<string, string>, mode: 'production' | 'development' = 'production') {
  const root = tempSite(t, files)
  const dir = tempDir(t, 'svc-cache')
  const lastGood: string[] = []
  const open = () => {
    const cache = new ModuleCache({ modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') })
    const onLastGood = (file: string) => lastGood.push(file)
    return { cache, compiler: new SiteCompiler({ resolver: new SiteResolver(root), cache, mode, onLastGood }) }
  }
  return { root, dir, open, lastGood, page: join(root, 'page.ts') }
}

test('a compiled module is taken from disk by the next process, equal in all parts', async (t) => {
  const { open, page, dir } = setup(t, { 'page.ts': 'export const a: number = 1', 'style.css': 'a{}' })
  const first = await open().compiler.load(page)
  const { cache, compiler } = open()
  const second = await compiler.load(page)
  const parts = ({ id, hash, dependencies, format, code, maps, watches, warnings }: typeof first) => {
    return { id, hash, dependencies, format, code, maps, watches, warnings }
  }
  assert.deepEqual(parts(second), parts(first))
  assert.ok(cache.counters.hits >= 2)
  assert.deepEqual(readdirSync(join(dir, 'm')).sort(), [`${first.hash}.js`, `${first.hash}.map`])
  assert.equal(statSync(join(dir, 'm', `${first.hash}.js`)).mode & 0o777, 0o600)
})

for (const [name, damage] of [
  ['changed', (text: string) => `${text} `],
  ['cut short', (text: string) => text.slice(0, -10)],
  ['emptied', () => ''],
  ['foreign', () => 'module.exports = 1'],
] as const) {
  test(`a ${name} cache file is a miss, is deleted and counted`, async (t) => {
    const { open, page, dir } = setup(t, { 'page.ts': 'export const a = 1' })
    const first = await open().compiler.load(page)
    for (const sub of ['m', 'c']) {
      const file = join(dir, sub, readdirSync(join(dir, sub)).find((name) => !name.endsWith('.map')) ?? '')
      writeFileSync(file, damage(readFileSync(file, 'utf8')))
    }
    const { cache, compiler } = open()
    assert.equal((await compiler.load(page)).code, first.code)
    assert.equal(cache.counters.corrupt, 2)
    assert.equal((await open().compiler.load(page)).code, first.code)
  })
}

test('a damaged source map is ignored until the next process compiles the module again', async (t) => {
  const { open, page, dir } = setup(t, { 'page.ts': 'export const a: number = 1' })
  const first = await open().compiler.load(page)
  const expected = first.maps
  assert.ok(expected.length > 0)
  writeFileSync(join(dir, 'm', `${first.hash}.map`), 'damaged')
  const second = await open().compiler.load(page)
  assert.deepEqual([second.code, second.maps], [first.code, []])
  assert.deepEqual((await open().compiler.load(page)).maps, expected)
})

test('a change of the source is seen even when size and modification time stay', async (t) => {
  const { open, page, root } = setup(t, { 'page.ts': 'export const a = 1' })
  const { compiler } = open()
  const first = await compiler.load(page)
  const { atime, mtime } = statSync(page)
  writeFiles(root, { 'page.ts': 'export const a = 2' })
  utimesSync(page, atime, mtime)
  assert.notEqual((await compiler.load(page)).hash, first.hash)
})

test('caches that cannot be written cost nothing but the time to compile', async (t) => {
  const { root, page } = setup(t, { 'page.ts': 'export const a = 1', file: '' })
  const dir = join(root, 'file')
  const cache = new ModuleCache({ modules: dir, index: dir, bytecode: dir })
  const compiler = new SiteCompiler({ resolver: new SiteResolver(root), cache, mode: 'production', onLastGood: () => undefined })
  assert.match((await compiler.load(page)).code, /a = 1/)
  assert.ok(cache.counters.writeFailures > 0)
})

test('in production a half-written file keeps its last good version, in development it is an error', async (t) => {
  for (const mode of ['production', 'development'] as const) {
    const { open, page, root, lastGood } = setup(t, { 'page.ts': 'import "./b"; export const a = 1', 'b.ts': '' }, mode)
    const good = await open().compiler.load(page)
    writeFiles(root, { 'page.ts': 'export const a = ' })
    const next = open().compiler.load(page)
    if (mode === 'development') await assert.rejects(next, { code: 'RENDER_COMPILE' })
    else {
      const kept = await next
      assert.deepEqual([kept.code, kept.dependencies, lastGood], [good.code, good.dependencies, [page]])
    }
  }
})

test('a deleted file, or a link that leads out of the site, is not compiled', async (t) => {
  const { open, page, root } = setup(t, { 'page.ts': 'export const a = 1' })
  const { compiler } = open()
  const outside = join(tempSite(t, { 'secret.ts': 'export const secret = 1' }), 'secret.ts')
  symlinkSync(outside, join(root, 'link.ts'))
  await assert.rejects(compiler.load(join(root, 'link.ts')), (error) => codeOf(error) === 'RENDER_RESOLVE')
  rmSync(page)
  await assert.rejects(compiler.load(page), (error) => codeOf(error) === 'RENDER_RESOLVE')
})

test('a file that becomes a pipe after it was looked at is refused by each open', async (t) => {
  const root = tempSite(t, { 'real.json': '{}', 'a.js': `import './b'`, 'b.js': '' })
  symlinkSync('real.json', join(root, 'package.json'))
  const swap = () => {
    rmSync(join(root, 'real.json'))
    execFileSync('mkfifo', [join(root, 'real.json')])
  }
  let isSwapped = false
  const site = {
    root,
    // Asked between the look at a link and the read of its target.
    baseOf: (file: string) => {
      if (!isSwapped && file === join(root, 'real.json')) swap()
      isSwapped ||= file === join(root, 'real.json')
      return root
    },
  }
  assert.throws(() => new ResolverFiles(site, () => undefined).check(root, './b'), {
    code: 'RENDER_RESOLVE',
    message: /is not a regular file/,
  })
  assert.ok(isSwapped)
})

test('a directory that becomes a link out of the site after an import was resolved is not read', async (t) => {
  const { open, page, root } = setup(t, { 'page.ts': `import './d/data.json'`, 'd/data.json': '{}' })
  const outside = tempSite(t, { 'data.json': '{"secret":1}' })
  const { compiler } = open()
  const id = (await compiler.load(page)).dependencies['./d/data.json'] ?? ''
  renameSync(join(root, 'd'), join(root, 'e'))
  symlinkSync(outside, join(root, 'd'))
  await assert.rejects(compiler.load(id), { code: 'RENDER_RESOLVE', message: /outside of/ })
})

test('a style sheet that changes while it is compiled is compiled again', async (t) => {
  const { root, dir } = setup(t, {
    'page.css': '@import "./a.css";',
    'a.css': '@import "./b.css"; i { color: red }',
    'b.css': 'b {}',
  })
  const cache = new ModuleCache({ modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') })
  /** Changes a sheet when the imports in it are resolved: it has been read then. */
  class ChangingResolver extends SiteResolver {
    override resolveStyle(importer: string, specifier: string) {
      if (specifier === './b.css') writeFiles(root, { 'a.css': '@import "./b.css"; i { color: blue }' })
      return super.resolveStyle(importer, specifier)
    }
  }
  const load = async (resolver: SiteResolver) => {
    const compiler = new SiteCompiler({ resolver, cache, mode: 'production', onLastGood: () => undefined })
    return (await compiler.load(join(root, 'page.css'))).code
  }
  assert.match(await load(new ChangingResolver(root)), /red/)
  assert.match(await load(new SiteResolver(root)), /#00f|blue/)
})

test('a module whose imports are too large is an error, and leaves nothing in the index that a host would read', async (t) => {
  const imports = Array.from({ length: 1_500 }, (_, i) => `import './b.js?${i}${'x'.repeat(3_500)}'`).join('\n')
  const { open, page, dir } = setup(t, { 'page.ts': imports, 'b.js': '' })
  await assert.rejects(open().compiler.load(page), {
    code: 'RENDER_RESOLVE',
    message: /imports have more than 4194304 characters/,
  })
  assert.ok(!existsSync(join(dir, 'c')) || readdirSync(join(dir, 'c')).length === 0)
})
