import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createLogger } from '@svc/telemetry'
import { ManualClock, tempDir, waitFor } from '@svc/testkit'
import { LogFiles } from '../src/logs/log-files.ts'

function makeLogFiles() {
  const lines: { msg: string; path?: string; reason?: string }[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const clock = new ManualClock()
  return { files: new LogFiles(clock, createLogger({ level: 'info', format: 'json', destination })), lines, clock }
}

test('a file in a directory that is missing is not opened, and the error names the file', async (t) => {
  const { files } = makeLogFiles()
  const path = join(tempDir(t, 'svc-logs'), 'missing/a.log')
  const message = `cannot write the log file ${path}: its directory does not exist`
  await assert.rejects(files.open([path]), { code: 'SUP_LOG_FILE', message })
})

test('lines for a file that is not in the configuration are dropped and counted', async (t) => {
  const { files } = makeLogFiles()
  const dir = tempDir(t, 'svc-logs')
  await files.open([join(dir, 'a.log')])
  const stream = new PassThrough()
  files.receive(stream)
  stream.end(`\0${dir}/a.log\none\n\0${dir}/other.log\ntwo\nthree\n\0${dir}/a.log\nfour\nhalf a li`)
  await files.close()
  assert.equal(readFileSync(join(dir, 'a.log'), 'utf8'), 'one\nfour\n')
  assert.throws(() => readFileSync(join(dir, 'other.log')), { code: 'ENOENT' })
  assert.equal(files.droppedLines, 2)
})

test('a path that cannot be opened again keeps its file, with one warning until it can', async (t) => {
  const { files, lines } = makeLogFiles()
  const dir = tempDir(t, 'svc-logs')
  const [a, b] = [join(dir, 'a.log'), join(dir, 'b.log')]
  await files.open([a, b])
  renameSync(a, `${a}.1`)
  mkdirSync(a)
  assert.equal(await files.reopen(), 1)
  assert.equal(await files.reopen(), 1)
  const warning = { path: a, reason: 'it is not a regular file', msg: 'failed to reopen a log file; lines go on to the old one' }
  assert.deepEqual(
    lines.map(({ path, reason, msg }) => ({ path, reason, msg })),
    [warning],
  )
  renameSync(a, join(dir, 'directory'))
  assert.equal(await files.reopen(), 2)
  renameSync(a, `${a}.2`)
  mkdirSync(a)
  assert.equal(await files.reopen(), 1)
  assert.equal(lines.length, 2, 'a new failure is reported again')
  await files.close()
})

test('a file that the configuration has dropped takes lines for another minute', async (t) => {
  const { files, clock } = makeLogFiles()
  const dir = tempDir(t, 'svc-logs')
  const [a, b] = [join(dir, 'a.log'), join(dir, 'b.log')]
  await files.open([a, b])
  files.retain([b])
  const stream = new PassThrough()
  files.receive(stream)
  stream.write(`\0${a}\nlate\n`)
  await waitFor('the late line', () => readFileSync(a, 'utf8') === 'late\n')
  await clock.advance(60_000)
  stream.write(`\0${a}\ntoo late\n\0${b}\nin time\n`)
  await waitFor('the other line', () => readFileSync(b, 'utf8') === 'in time\n')
  assert.equal(readFileSync(a, 'utf8'), 'late\n')
  assert.equal(files.droppedLines, 1)
  stream.end()
  await files.close()
})
