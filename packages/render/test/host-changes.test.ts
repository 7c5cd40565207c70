// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PROCESS_WAIT_MS, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { HostInstance } from './host-instance.ts'
import type { HostProcess } from './host-process.ts'

const TIMEOUT = { timeoutMs: 30_000 }
const page = (text: string) => `export default () => <p>${text}</p>`
const using = (from: string) => `import { text } from '${from}'\nexport default () => <p>{text}</p>`

const files = {
  'app/layout.tsx': 'export default ({ children }) => <html><body>{children}</body></html>',
  'app/page.tsx': page('root'),
  'app/a/page.tsx': using('../../lib/deep'),
  'app/b/page.tsx': using('../../lib/shared'),
  'app/b/[id]/page.tsx': page('b id'),
  'app/c/layout.tsx': 'import "./c.css"\nexport default ({ children }) => <div>{children}</div>',
  'app/c/c.css': '@import "./base.css";',
  'app/c/base.css': 'p { color: red }',
  'app/c/page.tsx': page('c'),
  'app/c/icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'app/late/route.ts': 'export const GET = async () => new Response((await import("../../lib/shared")).text)',
  'lib/deep.ts': `export { text } from './shared'`,
  'lib/shared.ts': `export const text = 'shared'`,
  'lib/unused.ts': 'export const unused = 1',
  'data/posts.md': '# posts',
  'public/style.css': 'p {}',
  'package.json': '{}',
}
const paths = ['/', '/a', '/b', '/b/[id]', '/c', '/late']

async function open(t: TestContext) {
  const root = tempSite(t, files)
  const instance = new HostInstance(t)
  const options = { sites: [{ id: 's', root }] }
  const host = await instance.start(options)
  const touchedBy = async (names: readonly string[], on = host) => {
    const change = { site: 's', files: names.map((name) => join(root, name)) }
    const { routes } = await on.master.call('siteChanged', change, TIMEOUT)
    await on.describe('s')
    return routes?.toSorted() ?? null
  }
  const edit = (name: string, source: string, on = host) => {
    writeFiles(root, { [name]: source })
    return touchedBy([name], on)
  }
  return { root, instance, options, host, touchedBy, edit }
}

async function renderAll(host: HostProcess): Promise<void> {
  for (const path of paths) assert.equal((await host.render('s', path)).status, 200, path)
}

test('a change that may mean anything is said to', async (t) => {
  const { host, root, touchedBy, edit } = await open(t)
  await renderAll(host)
  assert.equal(await touchedBy([]), null)
  assert.equal(await touchedBy(['package.json']), null)
  assert.equal(await edit('app/layout.tsx', files['app/layout.tsx'].replace('<body>', '<body id="b">')), null)
  assert.equal(await edit('lib/shared/index.ts', ''), null, 'a new file may be what an import leads to')
  assert.equal(await edit('middleware.ts', 'export const middleware = () => undefined'), null)
  assert.equal(await edit('middleware.ts', 'export const middleware = () => null'), null)
  rmSync(join(root, 'middleware.ts'))
  assert.equal(await touchedBy(['middleware.ts']), null)
})

test('a change touches the routes that the file is part of, and no others', async (t) => {
  const { host, root, touchedBy, edit } = await open(t)
  await renderAll(host)
  assert.deepEqual(await edit('app/a/page.tsx', page('new a')), ['/a'])
  assert.match((await host.render('s', '/a')).text, /new a/)
  assert.deepEqual(await edit('app/a/page.tsx', files['app/a/page.tsx']), ['/a'])
  await host.render('s', '/a')
  assert.deepEqual(await edit('lib/shared.ts', `export const text = 'new'`), ['/a', '/b', '/late'])
  assert.deepEqual(await edit('app/c/base.css', 'p { color: blue }'), ['/c'])
  assert.deepEqual(await edit('app/c/icon.svg', '<svg xmlns="http://www.w3.org/2000/svg"></svg>'), ['/c', '/c/icon.svg'])
  assert.deepEqual(await touchedBy(['data/posts.md', 'public/style.css', 'README.md', 'gone.tmp']), [])
  assert.deepEqual(await edit('app/new/page.tsx', page('new')), ['/new'])
  await host.render('s', '/new')
  assert.deepEqual(await edit('app/b/loading.tsx', page('wait')), ['/b', '/b/[id]'])
  await host.render('s', '/b')
  rmSync(join(root, 'app/new'), { recursive: true })
  assert.deepEqual(await touchedBy(['app/new/page.tsx']), ['/new'])
  rmSync(join(root, 'lib/shared.ts'))
  assert.deepEqual(await touchedBy(['lib/shared.ts']), ['/a', '/b', '/late'])
})

test('a change moves paths when a route is added or removed, and not when one is edited', async (t) => {
  const { host, root } = await open(t)
  await renderAll(host)
  const movesPaths = async (name: string) =>
    (await host.master.call('siteChanged', { site: 's', files: [join(root, name)] }, TIMEOUT)).movesPaths
  writeFiles(root, { 'app/a/page.tsx': page('a second') })
  assert.equal(await movesPaths('app/a/page.tsx'), false)
  writeFiles(root, { 'app/new/page.tsx': page('new') })
  assert.equal(await movesPaths('app/new/page.tsx'), true)
  rmSync(join(root, 'app/new'), { recursive: true })
  assert.equal(await movesPaths('app/new/page.tsx'), true)
})

test('a host that has loaded nothing of the site knows it from the index on disk', async (t) => {
  const { host, instance, options, edit, touchedBy } = await open(t)
  await renderAll(host)
  const second = await instance.start(options)
  assert.deepEqual(await edit('lib/deep.ts', `export const text = 'deep'`, second), ['/a'])
  // Not described yet: what was a route before is not known to it.
  const third = await instance.start(options)
  third.describe = async () => host.describe('s')
  assert.deepEqual(await touchedBy(['app/b/page.tsx'], third), ['/b'])
  const fourth = await instance.start(options)
  fourth.describe = third.describe
  assert.equal(await touchedBy(['app/z/page.tsx'], fourth), null)
  rmSync(join(instance.cacheDir, 'compile'), { recursive: true })
  // Without an index whatever was made of a route may have used the file.
  const routes = await touchedBy(['lib/deep.ts'], second)
  assert.ok(routes === null || routes.includes('/a'))
})

test('the modules of an isolate can be listed, only those of the requested site', async (t) => {
  const { host, root } = await open(t)
  const list = async (site: string) => (await host.master.call('modules', { site }, TIMEOUT)).isolates
  assert.deepEqual(await list('s'), [], 'there is no isolate')
  await renderAll(host)
  const [modules = [], ...more] = await list('s')
  assert.deepEqual(more, [])
  const found = modules.find(({ file }) => file === join(root, 'app/a/page.tsx'))
  assert.deepEqual([found?.format, found?.imports], ['esm', [join(root, 'lib/deep.ts')]])
  await host.master.call('purgeModules', { paths: [join(root, 'lib/shared.ts')] }, TIMEOUT)
  assert.equal((await list('s'))[0]?.length, modules.length - 5)
  assert.deepEqual(await list('other'), [])
})

test('compiled modules are forgotten by path with their dependents, by directory, and all; the count is true', async (t) => {
  const { host, root, instance, options } = await open(t)
  const purge = async (what: object, on = host) => (await on.master.call('purgeModules', what, TIMEOUT)).evicted
  const countOn = (name: string) =>
    readdirSync(join(instance.cacheDir, name)).filter((file) => /\.(?:json|js|map)$/.test(file)).length
  assert.equal(await purge({}), 0)
  await renderAll(host)
  // shared, deep, a, b and late: each in the isolate and on disk.
  assert.equal(await purge({ paths: [join(root, 'lib/shared.ts')] }), 10)
  assert.equal(await purge({ paths: [join(root, 'lib/shared.ts')] }), 0)
  await renderAll(host)
  assert.equal(await purge({ paths: [join(root, 'lib/unused.ts'), '/nowhere/x.ts'] }), 0)
  const onDisk = countOn('compile')
  const second = await instance.start(options)
  await renderAll(second)
  assert.equal(await purge({ dir: join(root, 'app/b') }), 2 + 2, 'this host has them in its isolate and takes them from disk')
  assert.equal(await purge({ dir: join(root, 'app/b') }, second), 2)
  await renderAll(host)
  assert.equal(countOn('compile'), onDisk)
  assert.equal(await purge({}), 2 * onDisk)
  assert.deepEqual([countOn('compile'), countOn('modules')], [0, 0])
  assert.equal(await purge({}, second), onDisk - 2)
  await renderAll(host)
})

test("after a purge of modules the next request compiles from disk, even if the file's times have not changed", async (t) => {
  const { host, root, instance } = await open(t)
  await renderAll(host)
  const file = join(root, 'lib/shared.ts')
  writeFiles(root, { 'lib/shared.ts': `export const text = 'edited'` })
  utimesSync(file, new Date(0), new Date(0))
  assert.match((await host.render('s', '/b')).text, /shared/)
  await host.master.call('purgeModules', { paths: [file] }, TIMEOUT)
  assert.match((await host.render('s', '/b')).text, /edited/)
  assert.ok(existsSync(join(instance.cacheDir, 'compile')))
})

test('nothing in flight breaks when its modules are forgotten, not even what it imports later', async (t) => {
  const { host, root } = await open(t)
  const gate = 'globalThis.gate ??= Promise.withResolvers()'
  writeFiles(root, {
    'app/slow/route.ts': `${gate}
export const POST = () => { globalThis.gate.resolve(); return new Response('open') }
export const GET = async () => { console.log('slow waits'); await globalThis.gate.promise; return new Response((await import('./later')).text) }`,
    'app/slow/later.ts': `export const text = 'later'`,
    'app/broken/page.tsx': `${gate}
export default async () => { console.log('page waits'); await globalThis.gate.promise; throw new Error('x') }`,
    'app/broken/error.tsx': `import { text } from './text'\nexport default () => <p>{text}</p>`,
    'app/broken/text.ts': `export const text = 'shown'`,
  })
  await host.changed('s')
  const slow = host.render('s', '/slow')
  const broken = host.render('s', '/broken')
  await waitFor('both', () => host.log.includes('slow waits') && host.log.includes('page waits'), PROCESS_WAIT_MS)
  const { evicted } = await host.master.call('purgeModules', {}, TIMEOUT)
  assert.ok(evicted > 0)
  assert.equal((await host.render('s', '/slow', { method: 'POST' })).text, 'open')
  assert.equal((await slow).text, 'later')
  assert.match((await broken).text, /shown/)
})
