import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepeatableBody } from '../src/bodies/repeatable-body.ts'
import type { BodyAck, RequestBody } from '../src/exchange/http-exchange.ts'

/** A reader, and what it got. */
function reading(body: RepeatableBody, isAcking = true) {
  const got = { text: '', ends: [] as (string | undefined)[] }
  body.read(
    (chunk, ack) => {
      got.text += Buffer.from(chunk).toString()
      if (isAcking) ack()
    },
    (error) => got.ends.push(error?.message),
  )
  return got
}

test('a body of which too much was read is not repeatable, and its reader goes on', () => {
  const source = new PushedBody()
  const body = new RepeatableBody(source)
  const first = reading(body)
  source.push(Buffer.alloc(64 * 1024, 'a'))
  source.push('b')
  assert.throws(() => reading(body), { code: 'HTTP_MISUSE' })
  source.push('c')
  source.end()
  assert.equal(first.text.length, 64 * 1024 + 2)
  assert.deepEqual(first.ends, [undefined])
})

test('the end of a body, good or bad, comes to each reader once', () => {
  for (const error of [undefined, new Error('gone')]) {
    const source = new PushedBody(1)
    const body = new RepeatableBody(source)
    const first = reading(body)
    source.push('a')
    source.end(error)
    const second = reading(body)
    assert.deepEqual([first, second], Array(2).fill({ text: 'a', ends: [error?.message] }))
    assert.equal(body.length, 1)
  }
})

test('another reader begins at the beginning, and the one before gets nothing more and holds nothing back', () => {
  const source = new PushedBody()
  const body = new RepeatableBody(source)
  const first = reading(body, false)
  source.push('a')
  source.push('b')
  assert.equal(source.acks, 0)
  const second = reading(body)
  assert.equal(source.acks, 2)
  source.push('c')
  source.end()
  assert.equal(source.acks, 3)
  assert.deepEqual(
    [first, second],
    [
      { text: 'ab', ends: [] },
      { text: 'abc', ends: [undefined] },
    ],
  )
})

test('memory of the repeatable part is not released; that of the rest is when its reader acknowledges', () => {
  const source = new PushedBody()
  const body = new RepeatableBody(source)
  const acks: BodyAck[] = []
  body.read(
    (_chunk, ack) => acks.push(ack),
    () => undefined,
  )
  for (const length of [1_000, 64 * 1024, 10]) source.push(Buffer.alloc(length))
  acks[0]?.(true)
  acks[1]?.(true)
  acks[2]?.()
  assert.deepEqual(source.said, [false, true, false])
})

test('chunks that arrive without a reader wait unacknowledged for the next one', () => {
  const source = new PushedBody()
  const body = new RepeatableBody(source)
  const first = reading(body)
  source.push('a')
  body.detach()
  // Together more than may be read again: only what a reader got counts.
  source.push(Buffer.alloc(64 * 1024, 'b'))
  assert.deepEqual([source.acks, body.isRepeatable], [1, true])
  const second = reading(body)
  source.end()
  assert.deepEqual([source.acks, body.isRepeatable], [2, false])
  assert.deepEqual([first.text, first.ends, second.text.length, second.ends], ['a', [], 64 * 1024 + 1, [undefined]])
})

test('a chunk that an acknowledgement brings at once comes behind the present one', () => {
  const source = new PushedBody()
  const body = new RepeatableBody(source)
  let text = ''
  body.read(
    (chunk, ack) => {
      if (text === '') source.push('b')
      text += Buffer.from(chunk).toString()
      ack()
    },
    () => {
      text += '.'
    },
  )
  source.push('a')
  source.end()
  assert.equal(text, 'ab.')
})

test('a body that was read elsewhere ends with the error of that', () => {
  const source = new PushedBody()
  source.read(
    () => undefined,
    () => undefined,
  )
  assert.deepEqual(reading(new RepeatableBody(source)).ends, ['read twice'])
})

/** A body whose chunks the test gives. Notes what it is told of them. */
class PushedBody implements RequestBody {
  readonly isPresent = true
  readonly length: number | undefined
  readonly said: (boolean | undefined)[] = []
  #onChunk: ((chunk: Uint8Array, ack: BodyAck) => void) | undefined
  #onEnd: ((error: Error | undefined) => void) | undefined

  constructor(length?: number) {
    this.length = length
  }

  get acks(): number {
    return this.said.length
  }

  read(onChunk: (chunk: Uint8Array, ack: BodyAck) => void, onEnd: (error: Error | undefined) => void): void {
    if (this.#onChunk !== undefined) throw new Error('read twice')
    this.#onChunk = onChunk
    this.#onEnd = onEnd
  }

  push(chunk: string | Uint8Array): void {
    this.#onChunk?.(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, (isUnused) => this.said.push(isUnused))
  }

  end(error?: Error): void {
    this.#onEnd?.(error)
  }
}
