import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { LineQueue, LineReceiver, LineSender } from '../src/index.ts'

/** Collects the lines of each path. */
function receiver(): { readonly files: Map<string, string>; take(chunk: Buffer): boolean } {
  const files = new Map<string, string>()
  const lines = new LineReceiver((path, bytes) => files.set(path, (files.get(path) ?? '') + bytes.toString()))
  return { files, take: (chunk) => lines.take(chunk) }
}

test('lines for several files reach theirs, however the stream is cut', async () => {
  const sent: Buffer[] = []
  const queue = new LineQueue({
    sink: {
      maxBytes: 50,
      close: () => undefined,
      write(bytes, done) {
        sent.push(Buffer.from(bytes))
        done(null, bytes.byteLength)
      },
    },
  })
  const sender = new LineSender(queue)
  const expected = new Map<string, string>()
  for (let i = 0; i < 300; i++) {
    const path = `/var/log/${(i * 7) % 4}/ä.log`
    const line = `${i} ü ${'x'.repeat(i % 30)}\n`
    sender.send(path, line)
    expected.set(path, (expected.get(path) ?? '') + line)
  }
  await queue.close(60_000)
  const stream = Buffer.concat(sent)
  for (const size of [1, 2, 3, 7, 64, 1000, stream.byteLength]) {
    const { files, take } = receiver()
    for (let at = 0; at < stream.byteLength; at += size) assert.equal(take(stream.subarray(at, at + size)), true)
    assert.deepEqual(files, expected, `${size} bytes at a time`)
  }
})

test('a line that is dropped takes no other line to a wrong file', async () => {
  const { files, take } = receiver()
  let isStuck = true
  let release: (() => void) | undefined
  const queue = new LineQueue({
    maxBufferedBytes: 10,
    sink: {
      maxBytes: 1000,
      close: () => undefined,
      write(bytes, done) {
        take(bytes)
        if (isStuck) release = () => done(null, bytes.byteLength)
        else done(null, bytes.byteLength)
      },
    },
  })
  const sender = new LineSender(queue)
  sender.send('/a', 'first\n')
  await waitFor('the write', () => release !== undefined)
  sender.send('/b', 'second, which fills the queue\n')
  sender.send('/c', 'dropped\n')
  isStuck = false
  release?.()
  await waitFor('the second line', () => files.has('/b'))
  sender.send('/c', 'third\n')
  sender.send('/b', 'fourth\n')
  await queue.close(60_000)
  assert.equal(queue.droppedLines, 1)
  assert.deepEqual(Object.fromEntries(files), {
    '/a': 'first\n',
    '/b': 'second, which fills the queue\nfourth\n',
    '/c': 'third\n',
  })
})

test('a stream without line breaks is not read to the end', () => {
  const { take } = receiver()
  const chunk = Buffer.alloc(100 * 1024, 'x')
  assert.deepEqual([take(chunk), take(chunk), take(chunk)], [true, true, false])
})
