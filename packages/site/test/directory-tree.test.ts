import assert from 'node:assert/strict'
import { chmodSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAX_LINKS } from '../src/directory-tree.ts'
import { compileRoutes } from '../src/route-table.ts'
import { scanSite } from '../src/scan-site.ts'
import { makeSite, type ScannedSite, scanned } from './temp-site.ts'

const NOBODY = 65_534

/** Scans a site while one of its directories is closed to everybody, without the rights of root, which may read all. */
function scannedWithout(root: string, closed: string): ScannedSite {
  const isRoot = process.geteuid?.() === 0
  chmodSync(closed, 0)
  if (isRoot) process.seteuid?.(NOBODY)
  try {
    return scanned(root)
  } finally {
    if (isRoot) process.seteuid?.(0)
    chmodSync(closed, 0o755)
  }
}

test('a directory that cannot be read is an error, and the rest is served', (t) => {
  const root = makeSite(t, ['app/page.tsx', 'app/secret/page.tsx', 'app/z/page.tsx'])
  chmodSync(root, 0o755)
  const site = scannedWithout(root, join(root, 'app/secret'))
  assert.deepEqual(site.routes, ['page / app/page.tsx', 'page /z app/z/page.tsx'])
  assert.equal(site.problems.length, 1)
  assert.match(site.problems[0] ?? '', /^error app\/secret: cannot be read: EACCES/)
})

test('an app directory that cannot be read is an error, not an exception', (t) => {
  const root = makeSite(t, ['app/page.tsx'])
  chmodSync(root, 0o755)
  const site = scannedWithout(root, join(root, 'app'))
  assert.deepEqual(site.routes, [])
  assert.match(site.problems.join('\n'), /^error app: cannot be read: EACCES/)
})

test('links that lead back, up or to each other end', (t) => {
  const root = makeSite(t, ['app/page.tsx', 'app/a/page.tsx', 'app/b/page.tsx'])
  symlinkSync('.', join(root, 'app/self'))
  symlinkSync('..', join(root, 'app/a/up'))
  symlinkSync('../b', join(root, 'app/a/b'))
  symlinkSync('../a', join(root, 'app/b/a'))
  const site = scanned(root)
  assert.deepEqual(site.routes, [
    'page / app/page.tsx',
    'page /a app/a/page.tsx',
    'page /a/b app/a/b/page.tsx',
    'page /b app/b/page.tsx',
    'page /b/a app/b/a/page.tsx',
  ])
  const loops = site.manifest.problems.map((problem) => problem.file.slice(root.length + 1))
  assert.deepEqual(loops.sort(), ['app/a/b/a', 'app/a/up', 'app/b/a/b', 'app/b/a/up', 'app/self'])
  assert.ok(site.manifest.problems.every((problem) => problem.severity === 'warning'))
})

test('links that multiply what is there are followed up to a bound', (t) => {
  const names = Array.from({ length: 12 }, (_, i) => `d${i}`)
  const root = makeSite(t, ['app/page.tsx', ...names.map((name) => `shared/${name}/`)])
  symlinkSync('../shared/d0', join(root, 'app/start'))
  for (const from of names) {
    for (const to of names) symlinkSync(`../${to}`, join(root, `shared/${from}/${to}`))
  }
  const site = scanned(root)
  assert.deepEqual(site.routes, ['page / app/page.tsx'])
  assert.ok(site.problems.includes(`error app: more than ${MAX_LINKS} links to directories; those after them are not followed`))
})

test('links to directories and files elsewhere are followed, broken ones reported', (t) => {
  const shared = makeSite(t, ['deep/page.tsx', 'layout.tsx'])
  const root = makeSite(t, ['app/page.tsx'])
  symlinkSync(shared, join(root, 'app/one'))
  symlinkSync(shared, join(root, 'app/two'))
  symlinkSync(join(shared, 'layout.tsx'), join(root, 'app/layout.tsx'))
  symlinkSync(join(shared, 'gone'), join(root, 'app/gone'))
  const site = scanned(root)
  assert.deepEqual(site.routes, [
    'page / app/page.tsx',
    'page /one/deep app/one/deep/page.tsx',
    'page /two/deep app/two/deep/page.tsx',
  ])
  assert.deepEqual(site.tree('/'), { segment: '', layout: 'app/layout.tsx', page: 'app/page.tsx' })
  assert.deepEqual(site.problems, ['warning app/gone: broken link (ENOENT)'])
})

test('a site of a thousand routes is scanned and matched', async (t) => {
  const files = Array.from({ length: 1000 }, (_, i) => `app/(g${i % 7})/s${i % 40}/p${i}/${i % 3 === 0 ? '[id]/' : ''}page.tsx`)
  const root = makeSite(t, files)
  const manifest = await scanSite({ root })
  assert.equal(manifest.routes.length, 1000)
  assert.deepEqual(manifest.problems, [])
  const table = compileRoutes(manifest)
  for (let i = 0; i < 1000; i++) {
    const match = table.match(`/s${i % 40}/p${i}${i % 3 === 0 ? `/x${i}` : ''}`)
    assert.ok(match && match.redirect === undefined)
    assert.equal(match.route.file, join(root, files[i] ?? ''))
    assert.deepEqual({ ...match.params }, i % 3 === 0 ? { id: `x${i}` } : {})
  }
})
