import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BodyWriter, HeaderList } from '@svc/http'
import { EventStreams, isEventStream } from '../src/request/event-streams.ts'

const farewell = 'event: close\ndata:\n\n'

/** A client that collects the bytes that it receives. */
class Client implements BodyWriter {
  text = ''
  ending: 'none' | 'ended' | 'cut' = 'none'

  write(chunk: Uint8Array): boolean {
    assert.equal(this.ending, 'none', 'nothing is written behind the end')
    this.text += Buffer.from(chunk).toString()
    return false
  }

  onDrain(): void {
    // Never waits.
  }

  end(chunk?: Uint8Array): void {
    if (chunk !== undefined) this.write(chunk)
    this.ending = 'ended'
  }

  abort(): void {
    this.ending = 'cut'
  }
}

const bytes = (text: string) => Buffer.from(text)

test('a stream between two events ends at once, and later data is dropped', () => {
  for (const sent of [
    [],
    ['data: a\n\n'],
    ['data: a\r\n', '\r\n'],
    ['data: a\n', '\n'],
    ['data: a\r', '\r'],
    ['data: a\n\r\n'],
  ]) {
    const streams = new EventStreams()
    const client = new Client()
    const stream = streams.join(client)
    for (const piece of sent) stream.write(bytes(piece))
    streams.end()
    assert.deepEqual([client.text, client.ending], [sent.join('') + farewell, 'ended'])
    assert.equal(stream.write(bytes('data: b\n\n')), true)
    stream.end(bytes('x'))
    stream.abort()
    assert.equal(client.ending, 'ended')
  }
})

test('an event that has begun is sent to its end first, wherever it is cut', () => {
  const event = 'id: 1\r\ndata: one\r\ndata: two\r\n\r\n'
  for (const lines of [event, event.replaceAll('\r\n', '\n'), event.replaceAll('\r\n', '\r')]) {
    // Two line ends of which one is CRLF are cut in the middle of the blank line, too.
    for (let at = 1; at < lines.length - 1; at++) {
      const streams = new EventStreams()
      const client = new Client()
      const stream = streams.join(client)
      stream.write(bytes(`data: before\n\n${lines.slice(0, at)}`))
      streams.end()
      for (const piece of [lines.slice(at, at + 1), `${lines.slice(at + 1)}data: after\n\n`]) stream.write(bytes(piece))
      // A CR alone may be the end already: then the LF that belongs to it is not sent.
      const [whole, first] = [`data: before\n\n${lines}${farewell}`, `data: before\n\n${lines.slice(0, -1)}${farewell}`]
      assert.ok(client.text === whole || (lines.endsWith('\r\n') && client.text === first), JSON.stringify([at, client.text]))
      assert.equal(client.ending, 'ended')
    }
  }
})

test('a stream without an event sends a comment first, so that its client is connected', async () => {
  const streams = new EventStreams()
  const [silent, speaking, gone] = [new Client(), new Client(), new Client()]
  streams.join(silent)
  streams.join(speaking).write(bytes('data: a\n\n'))
  streams.join(gone).left()
  await new Promise(setImmediate)
  assert.deepEqual([silent.text, speaking.text, gone.text], [':\n\n', 'data: a\n\n', ''])
  streams.end()
  assert.equal(silent.text, `:\n\n${farewell}`)
})

test('streams that have ended are left alone', () => {
  const streams = new EventStreams()
  const [ended, cut, gone] = [new Client(), new Client(), new Client()]
  streams.join(ended).end(bytes('data: last\n\n'))
  streams.join(cut).abort()
  streams.join(gone).left()
  streams.end()
  assert.deepEqual([ended.text, ended.ending, cut.ending, gone.text], ['data: last\n\n', 'ended', 'cut', ''])
})

test('a stream that begins while the server drains is ended once its maker has it', async () => {
  const streams = new EventStreams()
  streams.end()
  const client = new Client()
  const stream = streams.join(client)
  assert.equal(client.ending, 'none')
  stream.write(bytes('data: a\n\n'))
  await new Promise(setImmediate)
  assert.deepEqual([client.text, client.ending], [`data: a\n\n${farewell}`, 'ended'])
})

test('only streams of events that are neither compressed nor of a fixed length take an event more', () => {
  const is = (headers: HeaderList, length?: number, status = 200) =>
    isEventStream({ status, headers }, length === undefined ? undefined : { length })
  const type = ['Content-Type', 'text/event-stream; charset=utf-8'] as const
  assert.ok(is([type]))
  assert.ok(is([['content-type', 'Text/Event-Stream']]))
  assert.ok(!is([['content-type', 'text/event-streams']]))
  assert.ok(!is([['content-type', 'text/plain']]))
  assert.ok(!is([]))
  assert.ok(!is([type, ['content-encoding', 'gzip']]))
  assert.ok(!is([type], 12))
  assert.ok(!is([type], undefined, 502))
})
