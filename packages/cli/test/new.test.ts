import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadConfig } from '@svc/config'
import { scanSite } from '@svc/site/scan'
import { Child, repositoryRoot, tempDir, writeFiles } from '@svc/testkit'
import { runSvc } from './run-svc.ts'

test('new refuses a directory that is not empty, a file, and a place that cannot be written, and writes nothing', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'full/note.txt': 'mine', file: '' })
  const [full, file, proc] = await Promise.all(['full', 'file', '/proc/x'].map((name) => runSvc(['new', name], { cwd: dir })))
  assert.deepEqual([full?.code, file?.code, proc?.code], [64, 64, 64])
  assert.match(full?.stderr ?? '', /full is not empty; nothing was written/)
  assert.match(file?.stderr ?? '', /file is a file/)
  assert.match(proc?.stderr ?? '', /cannot write \/proc\/x: ENOENT/)
  assert.deepEqual(readdirSync(`${dir}/full`), ['note.txt'])
})

test('new makes a site with a page, a dynamic route and a route handler, without dependencies', async (t) => {
  const dir = tempDir(t)
  const { code, stdout, stderr } = await runSvc(['new', "My Site's"], { cwd: dir })
  assert.equal(code, 0, stderr)
  assert.ok(stdout.split('\n').includes("My Site's/app/page.tsx"), stdout)
  assert.match(stderr, /^Now run: \S*\bsvc serve 'My Site'\\''s'\n$/)

  const root = `${dir}/My Site's`
  const manifest = scanSite({ root })
  assert.deepEqual(manifest.problems, [])
  assert.deepEqual(
    manifest.routes.map(({ pattern, kind }) => `${kind} ${pattern}`),
    ['page /', 'handler /api/time', 'page /posts/[slug]'],
  )
  const manifestFile = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
  assert.equal(manifestFile.name, 'my-site-s')
  assert.equal('dependencies' in manifestFile, false)
  assert.match(readFileSync(`${root}/app/layout.tsx`, 'utf8'), /default: 'my-site-s'/)
  const loaded = await loadConfig({ standalone: { dir: root, production: false }, env: {}, cwd: dir, isRoot: false })
  assert.equal(loaded.ok, true)
})

test('the types of a new site are right as they are: nothing has to be installed for an editor', async (t) => {
  const dir = tempDir(t)
  assert.equal((await runSvc(['new', 'site'], { cwd: dir })).code, 0)
  const tsc = new Child(t, `${repositoryRoot}/node_modules/.bin/tsc`, ['-p', `${dir}/site`], { cwd: dir, env: process.env })
  const { code } = await tsc.exited
  assert.equal(code, 0, tsc.stdout)
  writeFiles(dir, {
    'site/app/page.tsx': "import { notFound } from 'svc/navigation'\nexport default () => <p title={1}>{notFound}</p>",
  })
  const wrong = new Child(t, `${repositoryRoot}/node_modules/.bin/tsc`, ['-p', `${dir}/site`], { cwd: dir, env: process.env })
  assert.notEqual((await wrong.exited).code, 0)
  assert.match(wrong.stdout, /page\.tsx\(2,.*number.*string/)
})
