import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Cleanup, tempDir } from '@svc/testkit'
import { type AccessEntry, AccessLog } from '../src/index.ts'

const entry: AccessEntry = {
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  requestId: 'r1',
  site: 'shop',
  method: 'GET',
  path: '/a"b?token=secret',
  status: 200,
  bytes: 12,
  durationMs: 1.23456,
  cache: 'l0-hit',
  client: '192.0.2.1',
  userAgent: 'curl/8\n"x"',
}

function openTemp(t: Cleanup): { fd: number; read(): string } {
  const file = join(tempDir(t, 'svc-access'), 'access.log')
  const fd = openSync(file, 'w')
  t.after(() => closeSync(fd))
  return { fd, read: () => readFileSync(file, 'utf8') }
}

test('a line carries every field, escapes what clients send and leaves the query out', async (t) => {
  const file = openTemp(t)
  const log = new AccessLog({ format: 'json', fd: file.fd })
  log.write(entry)
  await log.close(60_000)
  assert.deepEqual(JSON.parse(file.read()), {
    time: '2026-01-02T03:04:05.678Z',
    request_id: 'r1',
    site: 'shop',
    method: 'GET',
    path: '/a"b',
    status: 200,
    bytes: 12,
    duration_ms: 1.235,
    cache: 'l0-hit',
    client: '192.0.2.1',
    user_agent: 'curl/8\n"x"',
  })
})

test('many lines arrive whole and in order', async (t) => {
  const file = openTemp(t)
  const log = new AccessLog({ format: 'json', fd: file.fd })
  for (let i = 0; i < 3000; i++) log.write({ ...entry, requestId: String(i) })
  await log.close(60_000)
  const ids = file
    .read()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).request_id)
  assert.deepEqual(
    ids,
    Array.from({ length: 3000 }, (_, i) => String(i)),
  )
})

test('a line for a person is short, and control characters in it are escaped', async (t) => {
  const file = openTemp(t)
  const log = new AccessLog({ format: 'pretty', fd: file.fd })
  log.write(entry)
  await log.close(60_000)
  assert.equal(file.read(), '03:04:05.678 192.0.2.1 GET /a\\"b 200 12B 1.2ms l0-hit shop\n')
})

test('a reader that takes nothing costs lines and no waiting', async (t) => {
  // The reader never reads: its pipe is full after 64 KiB, and the buffer after maxBufferedBytes.
  const program = `
    import { AccessLog } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
    const log = new AccessLog({ format: 'json', maxBufferedBytes: 100_000 })
    const entry = ${JSON.stringify(entry)}
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 500; i++) log.write(entry)
      await new Promise((done) => setImmediate(done))
    }
    process.stderr.write(String(log.droppedLines) + '\\n')
    process.kill(process.pid, 'SIGKILL')
  `
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  t.after(() => child.kill('SIGKILL'))
  const [output] = await once(child.stderr, 'data')
  assert.ok(Number(String(output)) > 5000, `dropped ${output}`)
})

test('a destination that takes nothing any more ends the log without an error', async (t) => {
  const fd = openSync('/dev/full', 'w')
  t.after(() => closeSync(fd))
  const log = new AccessLog({ format: 'json', fd })
  log.write(entry)
  log.write(entry)
  await log.close(60_000)
  assert.equal(log.droppedLines, 2)
  log.write(entry)
  assert.equal(log.droppedLines, 3)
})
