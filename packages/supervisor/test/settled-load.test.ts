import assert from 'node:assert/strict'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LoadResult } from '@svc/config'
import { type Clock, systemClock } from '@svc/core'
import { tempDir } from '@svc/testkit'
import { loadSettled } from '../src/reload/settled-load.ts'

const SECOND = 1_000

/** Its timers keep this process alive. */
const clock: Clock = {
  ...systemClock,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
}

/** A configuration of one file, whose text its loads note. */
class Files {
  readonly file: string
  readonly texts: string[] = []
  /** Runs behind each load. */
  onLoad: () => void = () => undefined
  isOk = true

  constructor(dir: string) {
    this.file = join(dir, 'all.conf')
  }

  /** Writes the file as if that had been some time ago. */
  write(text: string, agoMs: number): void {
    writeFileSync(this.file, text)
    const at = (Date.now() - agoMs) / SECOND
    utimesSync(this.file, at, at)
  }

  readonly load = async (): Promise<LoadResult> => {
    this.texts.push(readFileSync(this.file, 'utf8'))
    this.onLoad()
    const { file, isOk } = this
    const failed = { ok: false, problems: [{ file, line: 1, column: 1, path: '', message: 'no' }] } as const
    return isOk ? ({ ok: true, files: [file] } as unknown as LoadResult) : failed
  }
}

test('files that have not changed lately are loaded once', async (t) => {
  const files = new Files(tempDir(t))
  for (const [text, agoMs] of [
    ['a', SECOND],
    ['', 60 * SECOND],
    ['from a clock that is ahead', -60 * SECOND],
  ] as const) {
    files.write(text, agoMs)
    files.texts.length = 0
    await loadSettled(files.load, clock)
    assert.deepEqual(files.texts, [text])
  }
})

test('a file that was just emptied, or changes during the load, is loaded again when it has its content', async (t) => {
  for (const isOk of [true, false]) {
    const files = new Files(tempDir(t))
    files.isOk = isOk
    files.write('', 300)
    files.onLoad = () => {
      if (files.texts.length === 2) files.write('whole', 10 * SECOND)
    }
    await loadSettled(files.load, clock)
    assert.deepEqual(files.texts, ['', '', 'whole'].slice(0, files.texts.length))
    files.write('half', SECOND)
    files.texts.length = 0
    files.onLoad = () => {
      if (files.texts.length === 1) files.write('half and half', 0)
    }
    await loadSettled(files.load, clock)
    assert.equal(files.texts.at(-1), 'half and half')
  }
})

test('files that do not stop changing are taken as they are', async (t) => {
  const files = new Files(tempDir(t))
  files.write('0', 0)
  files.onLoad = () => files.write(String(files.texts.length), 0)
  await loadSettled(files.load, clock)
  assert.ok(files.texts.length > 1)
})
