import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { syncTree } from '../src/releases/unpack/sync-tree.ts'
import { unpackRelease } from '../src/releases/unpack/unpack-release.ts'

const limits = { maxBytes: 1_000, maxFiles: 20 }

async function copy(t: TestContext, source: string, between: () => void = () => undefined) {
  const directory = join(tempDir(t), 'release')
  const handle = await open(source, 'r')
  try {
    between()
    const reply = await unpackRelease({ kind: 'directory', fd: handle.fd, directory, ...limits })
    return { reply, directory }
  } finally {
    await handle.close()
  }
}

test('a directory is copied with its links, without special permissions and names of others', async (t) => {
  const source = tempDir(t)
  writeFiles(source, { 'app/page.tsx': 'page', 'app/run.sh': 'run', 'public/a.txt': 'a' })
  chmodSync(join(source, 'app/page.tsx'), 0o666)
  chmodSync(join(source, 'app/run.sh'), 0o4777)
  symlinkSync('../app/page.tsx', join(source, 'public/link'))
  const { reply, directory } = await copy(t, source)
  assert.deepEqual(reply, {})
  assert.deepEqual(readdirSync(directory, { recursive: true }).toSorted(), [
    'app',
    'app/page.tsx',
    'app/run.sh',
    'public',
    'public/a.txt',
    'public/link',
  ])
  assert.equal(readFileSync(join(directory, 'public/link'), 'utf8'), 'page')
  assert.equal(readlinkSync(join(directory, 'public/link')), '../app/page.tsx')
  const modeOf = (path: string) => (statSync(join(directory, path)).mode & 0o7777).toString(8)
  assert.deepEqual([modeOf('app'), modeOf('app/page.tsx'), modeOf('app/run.sh')], ['700', '644', '755'])
})

test('links that leave the directory or lead nowhere, other kinds of files, and too much of them are refused', async (t) => {
  const cases: [why: RegExp, make: (source: string) => void][] = [
    [/"out" is a link that leaves the directory/, (source) => symlinkSync('/etc/passwd', join(source, 'out'))],
    [/"out" is a link that leaves the directory/, (source) => symlinkSync('../elsewhere', join(source, 'out'))],
    [/"out" is a link that leaves the release, or leads nowhere/, (source) => symlinkSync('missing', join(source, 'out'))],
    [/"pipe" is neither a file, a directory nor a link/, (source) => execFileSync('mkfifo', [join(source, 'pipe')])],
    [/more than 1000 bytes/, (source) => writeFileSync(join(source, 'large'), Buffer.alloc(1_001))],
    [
      /more than 20 entries/,
      (source) => writeFiles(source, Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, '']))),
    ],
    [
      /more than 20 entries/,
      (source) => mkdirSync(join(source, Array.from({ length: 21 }, () => 'd').join('/')), { recursive: true }),
    ],
  ]
  for (const [why, make] of cases) {
    const source = tempDir(t)
    make(source)
    const { reply } = await copy(t, source)
    assert.match('problem' in reply ? reply.problem : 'copied', why)
  }
})

test('a directory that is replaced by a link after it was checked is copied as it was checked', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'own/a.txt': 'mine', 'secret/b.txt': 'of others' })
  const { reply, directory } = await copy(t, join(dir, 'own'), () => {
    renameSync(join(dir, 'own'), join(dir, 'moved'))
    symlinkSync(join(dir, 'secret'), join(dir, 'own'))
  })
  assert.deepEqual([reply, readdirSync(directory)], [{}, ['a.txt']])
})

test('each file and directory of a release is written out, names after what they name', async (t) => {
  const dir = tempDir(t)
  const root = join(dir, 'shop/release')
  writeFiles(root, { 'a.txt': '', 'app/page.tsx': '', 'app/b/c.txt': '' })
  symlinkSync('a.txt', join(root, 'link'))
  const synced: string[] = []
  await syncTree(root, async (path) => void synced.push(path))
  const names = synced.map((path) => path.slice(dir.length + 1))
  assert.deepEqual(names.slice(0, 3).toSorted(), ['shop/release/a.txt', 'shop/release/app/b/c.txt', 'shop/release/app/page.tsx'])
  assert.deepEqual(names.slice(3), ['shop/release/app/b', 'shop/release/app', 'shop/release', 'shop', ''])
  const failing = syncTree(root, (path) => (path.endsWith('page.tsx') ? Promise.reject(new Error('EIO')) : Promise.resolve()))
  await assert.rejects(failing, /EIO/)
})
