import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BodyAck, RequestBody } from '@svc/http'
import { ManualBody } from '../../upstream/test/raw-upstream.ts'
import { RepeatableBody } from '../src/request/request-body.ts'

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

test('too much is not read again, and whoever reads goes on', () => {
  const source = new ManualBody()
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
    const source = new ManualBody(1)
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
  const source = new ManualBody()
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

test('memory of what may be read again is not given back; that of the rest is, when its reader says so', () => {
  const source = new AckedBody()
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

/** Notes what it is told of its chunks. */
class AckedBody implements RequestBody {
  readonly isPresent = true
  readonly length = undefined
  readonly said: (boolean | undefined)[] = []
  #onChunk: ((chunk: Uint8Array, ack: BodyAck) => void) | undefined

  read(onChunk: (chunk: Uint8Array, ack: BodyAck) => void): void {
    this.#onChunk = onChunk
  }

  push(chunk: Uint8Array): void {
    this.#onChunk?.(chunk, (isUnused) => this.said.push(isUnused))
  }
}
