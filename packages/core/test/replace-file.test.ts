import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { replaceFile } from '../src/index.ts'

/** Notes what is written out and renamed, in order; the real calls go on. */
function watchFiles(t: TestContext): string[] {
  const log: string[] = []
  const { open, rename } = promises
  const nameOf = (path: unknown) => String(path).replace(/[0-9a-f]{8}\.tmp$/, 'tmp')
  promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest)
    const sync = handle.sync.bind(handle)
    handle.sync = async () => {
      log.push(`sync ${nameOf(path)}`)
      await sync()
    }
    return handle
  }
  promises.rename = async (from, to) => {
    log.push(`rename ${nameOf(from)}`)
    await rename(from, to)
  }
  syncBuiltinESMExports()
  t.after(() => {
    Object.assign(promises, { open, rename })
    syncBuiltinESMExports()
  })
  return log
}

test('a file that must outlive a loss of power is written out before its name, and its name before the end', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'a.json')
  const log = watchFiles(t)
  await replaceFile(file, 'one', true)
  assert.deepEqual(log, [`sync ${file}.tmp`, `rename ${file}.tmp`, `sync ${dir}`])
  log.length = 0
  await replaceFile(file, 'two')
  assert.deepEqual([log, readFileSync(file, 'utf8')], [[`rename ${file}.tmp`], 'two'])
})

test('a file that cannot take the place of another leaves nothing behind', async (t) => {
  const dir = tempDir(t)
  await assert.rejects(replaceFile(dir, 'text', true), { code: /EISDIR|ENOTEMPTY|EEXIST/ })
  assert.deepEqual(readdirSync(dir), [])
})
