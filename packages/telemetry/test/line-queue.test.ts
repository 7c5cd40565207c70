import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Cleanup, tempDir, waitFor } from '@svc/testkit'
import { descriptorSink, LineQueue } from '../src/index.ts'

function openTemp(t: Cleanup): { fd: number; read(): string } {
  const file = join(tempDir(t, 'svc-lines'), 'lines.log')
  const fd = openSync(file, 'w')
  t.after(() => closeSync(fd))
  return { fd, read: () => readFileSync(file, 'utf8') }
}

test('many lines arrive whole and in order', async (t) => {
  const file = openTemp(t)
  const queue = new LineQueue({ sink: descriptorSink(file.fd) })
  const lines = Array.from({ length: 3000 }, (_, i) => `${i} ${'x'.repeat(i % 300)}\n`)
  for (const line of lines) queue.write(line)
  await queue.close(60_000)
  assert.equal(file.read(), lines.join(''))
})

test('a reader that takes nothing costs lines, one warning and no waiting', async (t) => {
  // The reader never reads: its pipe is full after 64 KiB, and the buffer after maxBufferedBytes.
  const program = `
    import { descriptorSink, LineQueue } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
    let warnings = 0
    const onDropping = () => warnings++
    const queue = new LineQueue({ sink: descriptorSink(1), maxBufferedBytes: 100_000, onDropping })
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 500; i++) queue.write('x'.repeat(200) + '\\n')
      await new Promise((done) => setImmediate(done))
    }
    process.stderr.write(queue.droppedLines + ' ' + warnings + '\\n')
    process.kill(process.pid, 'SIGKILL')
  `
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  t.after(() => child.kill('SIGKILL'))
  const [output] = await once(child.stderr, 'data')
  const [dropped, warnings] = String(output).split(' ').map(Number)
  assert.ok(Number(dropped) > 5000, `dropped ${dropped}`)
  assert.equal(warnings, 1)
})

test('the first line leaves at once, those of the next milliseconds together, a whole write of them at once', async () => {
  const writes: string[] = []
  const sink = {
    maxBytes: 100,
    write: (bytes: Buffer, done: (error: null, count: number) => void) => {
      writes.push(bytes.toString())
      done(null, bytes.byteLength)
    },
    close: () => undefined,
  }
  const queue = new LineQueue({ sink })
  queue.write('first\n')
  await turn()
  assert.deepEqual(writes, ['first\n'])
  queue.write('second\n')
  await turn()
  queue.write('third\n')
  await turn()
  // Unless the machine has taken the milliseconds for these turns.
  const isGathered = writes.length === 1
  await waitFor('the others are written', () => writes.join('') === 'first\nsecond\nthird\n')
  if (isGathered) assert.deepEqual(writes.slice(1), ['second\nthird\n'])
  queue.write(`${'x'.repeat(99)}\n`)
  await turn()
  assert.equal(writes.at(-1), `${'x'.repeat(99)}\n`)
  await queue.close(60_000)
})

test('a disk that is full when the log is closed costs the lines that are left', async (t) => {
  const fd = openSync('/dev/full', 'w')
  t.after(() => closeSync(fd))
  const reasons: string[] = []
  const queue = new LineQueue({ sink: descriptorSink(fd), onDropping: (reason) => reasons.push(reason) })
  queue.write('a\n')
  queue.write('b\n')
  await queue.close(60_000)
  assert.equal(queue.droppedLines, 2)
  queue.write('c\n')
  assert.equal(queue.droppedLines, 3)
  assert.deepEqual(reasons, ['ENOSPC'])
})

test('lines that wait for space on the disk are written when there is space again', async (t) => {
  const file = openTemp(t)
  const full = openSync('/dev/full', 'w')
  t.after(() => closeSync(full))
  const [onFull, onFile] = [descriptorSink(full), descriptorSink(file.fd)]
  let isFull = true
  let failures = 0
  const queue = new LineQueue({
    sink: {
      ...onFile,
      write(bytes, done) {
        if (isFull) failures++
        const sink = isFull ? onFull : onFile
        sink.write(bytes, done)
      },
    },
  })
  queue.write('a\n')
  await waitFor('the disk to be full', () => failures > 0)
  queue.write('b\n')
  isFull = false
  await waitFor('both lines', () => file.read() === 'a\nb\n')
  await queue.close(60_000)
  assert.equal(queue.droppedLines, 0)
})

test('a reader that is gone costs lines and no further attempts', async () => {
  let attempts = 0
  const queue = new LineQueue({
    sink: {
      maxBytes: 100,
      close: () => undefined,
      write(_bytes, done) {
        attempts++
        done(Object.assign(new Error('gone'), { code: 'EPIPE' }), 0)
      },
    },
  })
  queue.write('a\n')
  await waitFor('the failure', () => queue.droppedLines === 1)
  queue.write('b\n')
  assert.deepEqual([queue.droppedLines, attempts], [2, 1])
})
