import assert from 'node:assert/strict'
import { readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ModuleCache, SiteGraph } from '@svc/compile/caches'
import { tempDir, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { ModuleCompilers } from '../src/scan/compile-modules.ts'

const json = (value: unknown) => JSON.stringify(value)

/** A site with each kind of import, and files that none of them leads to so far. */
const files = {
  'page.tsx': `import './lib/a'; import 'pkg'; import 'pkg/sub'; import '@/aliased'; import './style.css'; export default 1`,
  'lib/a.ts': `import './b'; import './dir'; export {}`,
  'lib/b.js': '',
  'lib/dir/index.js': '',
  'src/aliased.ts': '',
  'tsconfig.json': json({ compilerOptions: { paths: { '@/*': ['./src/*'] } } }),
  'style.css': '@import "./part.css";',
  'part.css': 'a { color: red }',
  'node_modules/pkg/package.json': json({ main: './one.js' }),
  'node_modules/pkg/one.js': '',
  'node_modules/pkg/two.js': '',
  'node_modules/pkg/sub.js': '',
}

/** Waits until no file changed so lately that its time stamp says nothing. */
async function settled(root: string): Promise<void> {
  const newest = () =>
    Math.max(...readdirSync(root, { recursive: true }).map((name) => statSync(join(root, String(name))).ctimeMs))
  await waitFor('the files to be older', () => Date.now() - newest() > 100)
}

function cacheOf(t: TestContext) {
  const dir = tempDir(t, 'svc-cache')
  const cacheDirs = { modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') }
  return cacheDirs
}

/** The imports of all modules of the site, as a new process tells them: at once, or one module after the other. */
async function modulesOf(root: string, cacheDirs: ReturnType<typeof cacheOf>) {
  const compilers = new ModuleCompilers()
  const found = new Map<string, unknown>()
  let asked = 0
  for (let wave = [join(root, 'page.tsx')]; wave.length > 0; asked++) {
    const { modules, more } = await compilers.compile({ root, mode: 'development', cacheDirs, modules: { view: 'v', ids: wave } })
    const all = [...modules.map((result, at) => ({ id: wave[at] ?? '', ...result })), ...more]
    for (const { id, ...result } of all) found.set(id, { hash: result.hash, dependencies: result.dependencies })
    const targets = all.flatMap(({ dependencies = {} }) => Object.values(dependencies))
    wave = [...new Set(targets)].filter((id) => id.startsWith('/') && !found.has(id))
  }
  return { asked, found: [...found].sort(([a], [b]) => (a < b ? -1 : 1)) }
}

/** Compiles a site, until all of it is on disk. */
async function compiled(root: string, cacheDirs: ReturnType<typeof cacheOf>) {
  await settled(root)
  const first = await modulesOf(root, cacheDirs)
  await waitFor('the graph on disk', async () => (await modulesOf(root, cacheDirs)).asked === 1)
  return first
}

test('a later process tells all modules of a site at once, as long as nothing has changed', async (t) => {
  const root = tempSite(t, files)
  const cacheDirs = cacheOf(t)
  const cold = await compiled(root, cacheDirs)
  const warm = await modulesOf(root, cacheDirs)
  assert.deepEqual(warm.found, cold.found)
  assert.ok(cold.asked > 1)
  assert.equal(cold.found.length, 8)
  assert.equal(warm.asked, 1)
})

const changes: Readonly<Record<string, (root: string) => void>> = {
  'a module is edited': (root) => writeFiles(root, { 'lib/b.js': 'export const b = 1' }),
  'a module is removed': (root) => rmSync(join(root, 'lib/b.js')),
  'a file comes that is preferred to another': (root) => writeFiles(root, { 'lib/b.ts': '' }),
  'a file comes that is preferred to a directory': (root) => writeFiles(root, { 'lib/dir.js': '' }),
  'a directory becomes a link': (root) => {
    renameSync(join(root, 'lib/dir'), join(root, 'lib/other'))
    symlinkSync('other', join(root, 'lib/dir'))
  },
  'a package has another entry': (root) => writeFiles(root, { 'node_modules/pkg/package.json': json({ main: './two.js' }) }),
  'a package comes that is nearer': (root) => writeFiles(root, { 'lib/node_modules/pkg/index.js': '' }),
  'a part of a package is replaced': (root) => writeFiles(root, { 'node_modules/pkg/sub/package.json': '{"main":"../two.js"}' }),
  'a package is replaced as a whole': (root) => {
    rmSync(join(root, 'node_modules'), { recursive: true })
    writeFiles(root, { 'node_modules/pkg/index.js': 'exports.a = 1', 'node_modules/pkg/sub.js': '' })
  },
  'a path of the settings changes': (root) => {
    writeFiles(root, { 'other/aliased.ts': '', 'tsconfig.json': json({ compilerOptions: { paths: { '@/*': ['./other/*'] } } }) })
  },
  'settings are added': (root) =>
    writeFiles(root, { 'package.json': json({ type: 'module', imports: {}, browser: { pkg: false } }) }),
  'an imported style sheet is edited': (root) => writeFiles(root, { 'part.css': 'a { color: blue }' }),
}

for (const [name, change] of Object.entries(changes)) {
  test(`a later process tells what one without a memory tells: ${name}`, async (t) => {
    const root = tempSite(t, files)
    const cacheDirs = cacheOf(t)
    await compiled(root, cacheDirs)
    change(root)
    assert.deepEqual((await modulesOf(root, cacheDirs)).found, (await modulesOf(root, cacheOf(t))).found)
  })
}

test('a site that shares a cache with another gets its own imports', async (t) => {
  const shared = tempSite(t, {
    'node_modules/shared/index.js': '',
    'one/page.tsx': `import 'shared'`,
    'two/page.tsx': `import 'shared'`,
  })
  const cacheDirs = cacheOf(t)
  await compiled(join(shared, 'one'), cacheDirs)
  writeFiles(shared, { 'two/node_modules/shared/index.js': 'exports.two = 1' })
  const { found } = await modulesOf(join(shared, 'two'), cacheDirs)
  assert.deepEqual(
    found.map(([id]) => id),
    [join(shared, 'two/node_modules/shared/index.js'), join(shared, 'two/page.tsx')],
  )
})

test('a site with more paths than are worth a check is resolved each time', (t) => {
  const graph = new SiteGraph(new ModuleCache(cacheOf(t)), ['site'])
  graph.add('/a', { hash: 'h', imports: {} })
  for (let i = 0; i < 20_000; i++) graph.look(`/nowhere/${i}`)
  assert.equal(graph.get('/a')?.hash, 'h')
  graph.look('/nowhere/more')
  assert.equal(graph.get('/a'), undefined)
})
