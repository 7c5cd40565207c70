import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { snapshotTree } from '../src/watch/tree-snapshot.ts'

test('a tree is looked at up to a number of directories, of entries of each, and of files', async (t) => {
  const root = tempDir(t, 'svc-tree')
  for (let i = 0; i < 60; i++) mkdirSync(join(root, `d${i}`))
  const many = { files: 1_000, directories: 1_000, entries: 1_000 }
  assert.equal((await snapshotTree(root, [], { ...many, directories: 50 })).directories.size, 50)
  assert.equal((await snapshotTree(root, [], { ...many, entries: 40 })).directories.size, 41)
  writeFiles(root, Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`d1/f${i}`, ''])))
  assert.equal((await snapshotTree(root, [], { ...many, entries: 70, files: 20 })).files.size, 20)
  assert.equal((await snapshotTree(root, [], many)).files.size, 60)
})
