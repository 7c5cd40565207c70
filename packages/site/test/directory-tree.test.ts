// Runs alone: it reads large files and deep directories.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compileRoutes } from '../src/routing/route-table.ts'
import { MAX_PROBLEMS, scanSite } from '../src/scan/scan-site.ts'
import { MAX_DEPTH, MAX_LINKS } from '../src/tree/directory-tree.ts'
import { MAX_ENTRIES, MAX_LOOK_BYTES } from '../src/tree/site-files.ts'
import { makeSite, type ScannedSite, scanFiles, scanned } from './temp-site.ts'

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
  assert.match(site.problems[0] ?? '', /^error app\/secret: cannot be read, and nothing in it is served: EACCES/)
})

test('an app directory that cannot be read is an error, not an exception', (t) => {
  const root = makeSite(t, ['app/page.tsx'])
  chmodSync(root, 0o755)
  const site = scannedWithout(root, join(root, 'app'))
  assert.deepEqual(site.routes, [])
  assert.match(site.problems.join('\n'), /^error app: cannot be read, and nothing in it is served: EACCES/)
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

test('links inside of the site are followed, those that lead out and broken ones are reported', (t) => {
  const elsewhere = makeSite(t, ['deep/page.tsx', 'layout.tsx', 'icon.png'])
  const root = makeSite(t, ['app/page.tsx', 'shared/deep/page.tsx', 'shared/layout.tsx'])
  symlinkSync('../shared', join(root, 'app/one'))
  symlinkSync('../shared/layout.tsx', join(root, 'app/layout.tsx'))
  symlinkSync(join(root, 'gone'), join(root, 'app/gone'))
  symlinkSync(elsewhere, join(root, 'app/out'))
  symlinkSync(join(elsewhere, 'icon.png'), join(root, 'app/icon.png'))
  const site = scanned(root)
  assert.deepEqual(site.routes, ['page / app/page.tsx', 'page /one/deep app/one/deep/page.tsx'])
  assert.deepEqual(site.tree('/'), { segment: '', layout: 'app/layout.tsx', page: 'app/page.tsx' })
  const out = "outside of the site's directory, and is not followed: copy it into the site"
  assert.deepEqual(site.problems, [
    'warning app/gone: broken link (ENOENT)',
    `warning app/icon.png: leads to ${elsewhere}/icon.png, ${out}`,
    `error app/out: leads to ${elsewhere}, ${out}`,
  ])
})

test('an app directory that leads out of the site is not read', (t) => {
  const elsewhere = makeSite(t, ['page.tsx'])
  const root = makeSite(t, [])
  symlinkSync(elsewhere, join(root, 'app'))
  const site = scanned(root)
  assert.deepEqual(site.routes, [])
  assert.match(site.problems.join('\n'), /^error app: cannot be read, and nothing in it is served: leads to .* outside/)
})

test('a module that is not a readable file of the site stays in the tree, so that what it guards is not served without it', (t) => {
  const elsewhere = makeSite(t, ['layout.tsx'])
  const root = makeSite(t, ['app/page.tsx', ...['fifo', 'zero', 'out', 'large', 'gone'].map((name) => `app/${name}/page.tsx`)])
  execFileSync('mkfifo', [join(root, 'app/fifo/layout.tsx')])
  symlinkSync('/dev/zero', join(root, 'app/zero/layout.tsx'))
  symlinkSync(join(elsewhere, 'layout.tsx'), join(root, 'app/out/layout.tsx'))
  symlinkSync('nothing', join(root, 'app/gone/layout.tsx'))
  closeSync(openSync(join(root, 'app/large/layout.tsx'), 'w'))
  truncateSync(join(root, 'app/large/layout.tsx'), 500 * 1024 * 1024)
  const site = scanned(root)
  for (const name of ['fifo', 'zero', 'out', 'large', 'gone']) {
    assert.match(JSON.stringify(site.tree(`/${name}`)), new RegExp(`"layout":"app/${name}/layout.tsx"`))
  }
  const whys = site.problems.map((problem) =>
    problem.replace(/^error (\S+): cannot be read: .*?(is not|leads to|has|ENOENT)/, '$1 $2'),
  )
  assert.deepEqual(whys.toSorted(), [
    `app/fifo/layout.tsx is not a regular file`,
    `app/gone/layout.tsx ENOENT: no such file or directory, realpath 'app/gone/layout.tsx'`,
    `app/large/layout.tsx has 524288000 bytes; the limit is ${MAX_LOOK_BYTES}`,
    `app/out/layout.tsx leads to ${elsewhere}/layout.tsx, outside of ${root}`,
    `app/zero/layout.tsx leads to /dev/zero, outside of ${root}`,
  ])
})

test('a directory with too many entries is not served at all, and the rest is', (t) => {
  const root = makeSite(t, ['app/page.tsx', 'app/full/page.tsx'])
  for (let i = 0; i <= MAX_ENTRIES; i++) closeSync(openSync(join(root, `app/full/${i}`), 'w'))
  const site = scanned(root)
  assert.deepEqual(site.routes, ['page / app/page.tsx'])
  assert.deepEqual(site.problems, [
    `error app/full: cannot be read, and nothing in it is served: has more than ${MAX_ENTRIES} entries`,
  ])
})

test('directories are followed down to a bound', (t) => {
  const deepest = Array.from({ length: MAX_DEPTH - 1 }, () => 'd').join('/')
  const site = scanFiles(t, [`app/${deepest}/page.tsx`, `app/${deepest}/d/page.tsx`])
  assert.deepEqual(site.routes, [`page /${deepest} app/${deepest}/page.tsx`])
  assert.match(site.problems.join('\n'), /^error app\/[d/]+: is more than 64 directories deep and is not served$/)
})

test('more routes than a manifest may have are left out, and reported', (t) => {
  // Each page has the tree of all slots around it.
  const slots = Array.from({ length: 60 }, (_, i) => `app/@s${i}/default.tsx`)
  const pages = Array.from({ length: 1500 }, (_, i) => `app/p${i}/page.tsx`)
  const site = scanFiles(t, ['app/layout.tsx', ...slots, ...pages])
  assert.ok(site.routes.length > 500 && site.routes.length < 1500, `${site.routes.length} routes`)
  assert.ok(JSON.stringify(site.manifest).length < 10_000_000)
  assert.match(site.problems.join('\n'), /^error app: \d+ of 1500 routes are not served/)
})

test('of very many problems the errors are listed', (t) => {
  const root = makeSite(t, ['app/page.tsx', ...Array.from({ length: 300 }, (_, i) => `app/d${i}/(.)x/page.tsx`)])
  const { manifest } = scanned(root)
  assert.equal(manifest.problems.length, MAX_PROBLEMS + 1)
  assert.equal(manifest.problems.at(-1)?.message, '100 more problems are not listed')
})

test('a site of a thousand routes is scanned and matched', (t) => {
  const files = Array.from({ length: 1000 }, (_, i) => `app/(g${i % 7})/s${i % 40}/p${i}/${i % 3 === 0 ? '[id]/' : ''}page.tsx`)
  const root = makeSite(t, files)
  const manifest = scanSite({ root })
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
