import assert from 'node:assert/strict'
import { statSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Clock } from '@svc/core'
import { PROCESS_WAIT_MS, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { keepFresh } from '../src/master/run-directory.ts'

/** A clock whose timers run when the test says so. */
function clockAt(nowMs: number) {
  const tasks: (() => void)[] = []
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (_, task) => {
      tasks.push(task)
      return () => tasks.splice(tasks.indexOf(task), 1)
    },
  }
  return { clock, tasks }
}

test('files of a run directory are touched again and again until that ends, links are left alone', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'run/svc.pid': '1', 'run/tls/a.key': 'x', elsewhere: '' })
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'run/link'))
  const files = ['run/svc.pid', 'run/tls/a.key', 'elsewhere'].map((name) => join(dir, name))
  for (const file of files) utimesSync(file, 1, 1)
  const { clock, tasks } = clockAt(5_000)
  const end = keepFresh(join(dir, 'run'), clock, assert.ifError)
  const times = () => files.map((file) => statSync(file).mtimeMs)
  for (const _ of [1, 2]) {
    for (const file of files) utimesSync(file, 1, 1)
    tasks.shift()?.()
    await waitFor('the files', async () => (times().join() === '5000,5000,1000' ? true : undefined), PROCESS_WAIT_MS)
    assert.equal(tasks.length, 1)
  }
  end()
  assert.equal(tasks.length, 0)
})
