import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StaticSite } from './static-site.ts'

const missing = [
  '/nothing',
  '/a.txt/',
  '/a.txt/b',
  '/dir',
  '/dir/',
  '/',
  '/.env',
  '/dir/.hidden',
  '/.git/config',
  '/dir/.well-known/x',
  '/.well-knownx/a',
  '/../secret.txt',
  '/%2E%2E/secret.txt',
  '/..%2Fsecret.txt',
  '/dir%2Fb.txt',
  '/dir%5Cb.txt',
  '/a.txt%00',
  '/a.txt%00.png',
  '/%FF',
  '/%E9',
  '/dir/../../secret.txt',
  '/\\..\\secret.txt',
  `/${'x'.repeat(300)}`,
  `/${'x/'.repeat(3000)}y`,
]
for (const path of missing) {
  test(`calls ${path.slice(0, 40)} missing`, async (t) => {
    const site = new StaticSite(t, {
      'a.txt': 'a',
      'dir/b.txt': 'b',
      '.env': 'x',
      'dir/.hidden': 'x',
      '.git/config': 'x',
      'dir/.well-known/x': 'x',
      '.well-knownx/a': 'x',
    })
    assert.equal(await site.get(path), 'missing')
    assert.equal(site.files.has(path), false)
    assert.deepEqual(site.problems, [])
  })
}

test('serves the well-known directory, but nothing hidden in it', async (t) => {
  const site = new StaticSite(t, { '.well-known/a': 'a', '.well-known/.b': 'b', '.well-known/c/.d': 'd' })
  assert.equal((await site.found('/.well-known/a')).body.toString(), 'a')
  assert.equal(await site.get('/.well-known/.b'), 'missing')
  assert.equal(await site.get('/.well-known/c/.d'), 'missing')
})

test('serves no file that a link leads to outside of the root', async (t) => {
  const site = new StaticSite(t)
  symlinkSync(join(site.dir, 'secret.txt'), site.pathOf('link.txt'))
  symlinkSync(site.dir, site.pathOf('up'))
  mkdirSync(`${site.root}-beside`)
  writeFileSync(join(`${site.root}-beside`, 'x.txt'), 'x')
  symlinkSync(join(`${site.root}-beside`, 'x.txt'), site.pathOf('beside.txt'))
  for (const path of ['/link.txt', '/up/secret.txt', '/up/public/link.txt', '/beside.txt'])
    assert.equal(await site.get(path), 'missing', path)
})

test('serves no file that a link leads to under a hidden name', async (t) => {
  const site = new StaticSite(t, { '.git/config': 'x' })
  symlinkSync(site.pathOf('.git'), site.pathOf('git'))
  assert.equal(await site.get('/git/config'), 'missing')
})

test('follows links that stay inside of the root', async (t) => {
  const site = new StaticSite(t, { 'v1/a.txt': 'one' })
  symlinkSync('v1', site.pathOf('current'))
  assert.equal((await site.found('/current/a.txt')).body.toString(), 'one')
})

test('notices at once that a file became a link to the outside', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'fine' })
  assert.equal((await site.found('/a.txt')).body.toString(), 'fine')
  unlinkSync(site.pathOf('a.txt'))
  symlinkSync(join(site.dir, 'secret.txt'), site.pathOf('a.txt'))
  assert.equal(await site.get('/a.txt'), 'missing')
})

test('follows the root when it is a link that is pointed elsewhere', async (t) => {
  const site = new StaticSite(t)
  for (const release of ['one', 'two']) {
    mkdirSync(join(site.dir, release))
    writeFileSync(join(site.dir, release, 'a.txt'), release)
  }
  const root = join(site.dir, 'current')
  symlinkSync('one', root)
  const live = new StaticSite(t, {}, { root })
  assert.equal((await live.found('/a.txt')).body.toString(), 'one')
  symlinkSync('two', `${root}.new`)
  renameSync(`${root}.new`, root)
  assert.equal((await live.found('/a.txt')).body.toString(), 'two')
})

test('a missing root has no files, and has them once it is created', async (t) => {
  const outer = new StaticSite(t)
  const root = join(outer.dir, 'later')
  const site = new StaticSite(t, {}, { root })
  assert.equal(await site.get('/a.txt'), 'missing')
  mkdirSync(root)
  writeFileSync(join(root, 'a.txt'), 'late')
  assert.equal((await site.found('/a.txt')).body.toString(), 'late')
})

test('does not open a file that is not regular', async (t) => {
  const site = new StaticSite(t)
  execFileSync('mkfifo', [site.pathOf('fifo')])
  assert.equal(await site.get('/fifo'), 'missing')
  symlinkSync('/dev/zero', site.pathOf('zero'))
  assert.equal(await site.get('/zero'), 'missing')
  symlinkSync('loop', site.pathOf('loop'))
  assert.equal(await site.get('/loop'), 'missing')
  assert.deepEqual(site.problems, [])
})

test('reports a file that it may not read', {
  skip: process.getuid?.() === 0 ? 'root may read everything' : false,
}, async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'a' })
  chmodSync(site.pathOf('a.txt'), 0)
  assert.equal(await site.get('/a.txt'), 'missing')
  assert.match(site.problems[0] ?? '', /cannot read/)
})

test('refuses other methods only where there is a file', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'a' })
  const { head } = await site.found('/a.txt', { method: 'POST' })
  assert.equal(head.status, 405)
  assert.deepEqual(
    head.headers.find(([name]) => name === 'allow'),
    ['allow', 'GET, HEAD'],
  )
  assert.equal(await site.get('/b.txt', { method: 'POST' }), 'missing')
})

test('leaves directories alone unless it serves their index', async (t) => {
  const contents = { 'index.html': '<p>root', 'dir/index.html': '<p>dir', 'empty/x.txt': 'x' }
  const app = new StaticSite(t, contents)
  for (const path of ['/', '/dir', '/dir/', '/empty', '/empty/']) assert.equal(await app.get(path), 'missing', path)
  const plain = new StaticSite(t, contents, { hasIndex: true })
  assert.equal((await plain.found('/')).body.toString(), '<p>root')
  assert.equal((await plain.found('/dir/')).body.toString(), '<p>dir')
  assert.deepEqual((await plain.found('/dir', { query: 'a=1' })).head, { status: 308, headers: [['location', '/dir/?a=1']] })
  for (const path of ['/empty', '/empty/', '/dir/index.html/']) assert.equal(await plain.get(path), 'missing', path)
})

test('a hard link to a file in the root is a file in the root', async (t) => {
  const site = new StaticSite(t, { 'a.txt': 'a' })
  linkSync(site.pathOf('a.txt'), site.pathOf('b.txt'))
  assert.equal((await site.found('/b.txt')).body.toString(), 'a')
})
