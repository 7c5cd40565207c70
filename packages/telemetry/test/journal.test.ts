import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Cleanup, tempDir } from '@svc/testkit'
import { isJournal } from '../src/log/journal.ts'

/** Runs a program that logs one line of each level. Its standard error is a file, which stands for the stream of the journal. */
function logged(t: Cleanup, stream: (fd: number) => string | undefined, format = 'json'): string[] {
  const file = join(tempDir(t, 'svc-journal'), 'stderr')
  const fd = openSync(file, 'w')
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
    const logger = createLogger({ level: 'trace', format: ${JSON.stringify(format)}, base: {} })
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) logger[level](level + '\\nsecond')
  `
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program]
  const env = { ...process.env, JOURNAL_STREAM: stream(fd) }
  const { status } = spawnSync(process.execPath, flags, { stdio: ['ignore', 'ignore', fd], env })
  closeSync(fd)
  assert.equal(status, 0)
  return readFileSync(file, 'utf8').trimEnd().split('\n')
}

function streamOf(fd: number): string {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  return `${dev}:${ino}`
}

test('lines for the journal begin with the priority of their level', (t) => {
  const lines = logged(t, streamOf)
  const priorities = lines.map((line) => [JSON.parse(line.slice(3)).level, line.slice(0, 3)])
  // The line that is being written when the process ends may come last.
  assert.deepEqual(Object.fromEntries(priorities), {
    trace: '<7>',
    debug: '<7>',
    info: '<6>',
    warn: '<4>',
    error: '<3>',
    fatal: '<2>',
  })
})

test('each line of an entry for a person has the priority', (t) => {
  const lines = logged(t, streamOf, 'pretty')
  assert.equal(lines.length, 12)
  const last = lines.findIndex((line) => line.includes('FATAL'))
  assert.match(lines[last] ?? '', /^<2>\d\d:\d\d:\d\d FATAL fatal$/)
  assert.equal(lines[last + 1], '<2>    second')
})

test('lines for anything else have no priority, even where systemd has named a stream', (t) => {
  for (const stream of ['8:1', 'nonsense', '', undefined]) {
    for (const line of logged(t, () => stream)) assert.ok(line.startsWith('{'), line)
  }
})

test('a closed descriptor is not the journal', () => {
  assert.equal(isJournal(9999, { JOURNAL_STREAM: '8:1' }), false)
})
