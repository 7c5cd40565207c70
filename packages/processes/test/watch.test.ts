import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { chooseTurn, watchSettings } from '../src/watch/site-watcher.ts'
import { changedFiles, haveEntriesMoved, snapshotTree } from '../src/watch/tree-snapshot.ts'

test('added, edited, removed and swapped files are found, regardless of their times', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'app/page.tsx': 'a', 'app/gone.tsx': 'a', 'app/same.tsx': 'a', 'app/swapped.tsx': 'new' })
  writeFileSync(join(dir, 'older'), 'old')
  utimesSync(join(dir, 'older'), 1, 1)
  const before = await snapshotTree(dir, [])
  writeFileSync(join(dir, 'app/page.tsx'), 'bb')
  writeFiles(dir, { 'app/blog/page.tsx': 'a' })
  rmSync(join(dir, 'app/gone.tsx'))
  renameSync(join(dir, 'older'), join(dir, 'app/swapped.tsx'))
  const changed = changedFiles(before, await snapshotTree(dir, [])).map((path) => path.slice(dir.length + 1))
  assert.deepEqual(changed.sort(), ['app/blog/page.tsx', 'app/gone.tsx', 'app/page.tsx', 'app/swapped.tsx', 'older'])
})

test('directories alone tell of new and removed entries, but not of edits', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'app/page.tsx': 'a', 'app/blog/page.tsx': 'a' })
  // File systems count in ticks: a directory made within this one would look the same after a change.
  for (const name of ['', 'app', 'app/blog']) utimesSync(join(dir, name), 1, 1)
  const before = await snapshotTree(dir, [])
  writeFileSync(join(dir, 'app/page.tsx'), 'bb')
  assert.equal(await haveEntriesMoved(before), false)
  writeFileSync(join(dir, 'app/blog/layout.tsx'), '')
  assert.equal(await haveEntriesMoved(before), true)
  rmSync(join(dir, 'app/blog'), { recursive: true })
  assert.equal(await haveEntriesMoved(before), true)
})

test('directories that the service writes to are left out, in any location', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'app/page.tsx': '', 'cache/isr/data.mdb': '', 'state/cache/x': '', 'lib/cache/a.ts': '' })
  const tree = await snapshotTree(dir, [join(dir, 'cache'), join(dir, 'state')])
  assert.deepEqual([...tree.files.keys()].map((path) => path.slice(dir.length + 1)).sort(), ['app/page.tsx', 'lib/cache/a.ts'])
})

test('installed packages, public files, dot files and link loops are left out', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'node_modules/a/index.js': '', 'public/a.png': '', '.svc/x': '', 'lib/a.ts': '' })
  symlinkSync(dir, join(dir, 'lib/loop'))
  symlinkSync(join(dir, 'nowhere'), join(dir, 'lib/broken'))
  mkdirSync(join(dir, 'empty'))
  const tree = [...(await snapshotTree(dir, [])).files.keys()].map((path) => path.slice(dir.length + 1))
  assert.ok(tree.includes('lib/a.ts'))
  assert.ok(
    tree.every((path) => path.endsWith('a.ts')),
    tree.join(),
  )
  assert.equal((await snapshotTree(join(dir, 'nowhere'), [])).files.size, 0)
})

test('live sites get every tick, used ones every interval, cold ones a tenth in turn', () => {
  const sites = ['live', 'used', ...Array.from({ length: 25 }, (_, i) => `cold${i}`)]
  const heat = (site: string) => (site === 'live' || site === 'used' ? site : 'cold')
  assert.deepEqual(chooseTurn(sites, heat, () => true, false, 0).due, ['live'])
  const seen = new Map<string, number>()
  let next = 0
  for (let tick = 0; tick < 10; tick++) {
    const turn = chooseTurn(sites, heat, () => true, true, next)
    next = turn.nextCold
    assert.ok(turn.due.length <= 5)
    for (const site of turn.due) seen.set(site, (seen.get(site) ?? 0) + 1)
  }
  assert.equal(seen.size, 27)
  assert.equal(seen.get('used'), 10)
})

test('a site that was never looked at is due at once', () => {
  assert.deepEqual(
    chooseTurn(
      ['a', 'b'],
      () => 'cold',
      (site) => site === 'a',
      false,
      0,
    ).due,
    ['b'],
  )
})

test('the environment sets the interval or turns the poll off', () => {
  assert.deepEqual(watchSettings({}), { intervalMs: 2000, liveMs: 250 })
  assert.deepEqual(watchSettings({ SVC_MASQUERADE_ROUTE_WATCH_MS: '100' }), { intervalMs: 100, liveMs: 100 })
  assert.deepEqual(watchSettings({ SVC_MASQUERADE_ROUTE_WATCH_MS: 'x' }), { intervalMs: 2000, liveMs: 250 })
  assert.deepEqual(watchSettings({ SVC_MASQUERADE_ROUTE_WATCH: '0' }), { intervalMs: 0, liveMs: 0 })
})
