import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { isSharedDirectory, makeDirectories } from '../src/directories/directories.ts'

const modeOf = (path: string) => statSync(path).mode & 0o7777

test('a directory is made for its owner alone, and one that was open to others is closed to them', async (t) => {
  const dir = tempDir(t, 'directories')
  mkdirSync(join(dir, 'open'))
  chmodSync(join(dir, 'open'), 0o777)
  await makeDirectories({ 'server.state_dir': join(dir, 'a/b'), 'cache.dir': join(dir, 'open') })
  assert.deepEqual([join(dir, 'a/b'), join(dir, 'open')].map(modeOf), [0o700, 0o700])
})

test('a directory that all programs of a machine share is not closed to them', async (t) => {
  // As a link to it, and one whose mode cannot be changed.
  const link = join(tempDir(t, 'directories'), 'link')
  symlinkSync('/proc', link)
  await assert.rejects(makeDirectories({ 'cache.dir': link }), {
    code: 'SUP_DIRECTORY',
    message: /other programs use it, .* set cache\.dir \(or .*SVC_CACHE__DIR\)/,
  })
  for (const path of ['/', '/tmp', '/run', '/var/lib', '/var/cache']) assert.equal(isSharedDirectory(path), true, path)
  for (const path of ['/data', '/run/svc', '/var/lib/svc']) assert.equal(isSharedDirectory(path), false, path)
})
