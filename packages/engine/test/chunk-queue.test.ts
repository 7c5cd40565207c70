import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkQueue } from '../src/exchange/chunk-queue.ts'

const piece = (text: string) => ({ bytes: Buffer.from(text), onUnused: undefined })
const textOf = (queue: ChunkQueue) => queue.take()?.bytes.toString()

test('pieces come out in their order, with what was put back in front', () => {
  const queue = new ChunkQueue()
  assert.ok(queue.isEmpty)
  assert.equal(queue.take(), undefined)
  const expected: string[] = []
  let pushed = 0
  // Longer by far than what is moved up at a time; each third is put back in part.
  for (let turn = 0; turn < 2_000; turn++) {
    for (let more = turn % 5; more > 0; more--) {
      queue.push(piece(`${pushed}-`))
      expected.push(`${pushed++}-`)
    }
    if (turn % 3 === 0 && expected.length > 0) {
      queue.putBack(piece(`${textOf(queue)}rest`))
      expected[0] += 'rest'
    }
    if (turn % 2 === 0) assert.equal(textOf(queue), expected.shift())
    assert.equal(queue.isEmpty, expected.length === 0)
  }
  assert.ok(expected.length > 1_000)
  for (const text of expected) assert.equal(textOf(queue), text)
  assert.ok(queue.isEmpty)
})

test('a piece may be put back into a queue that it was the last of, and all may be left', () => {
  const queue = new ChunkQueue()
  queue.push(piece('whole'))
  assert.equal(textOf(queue), 'whole')
  queue.putBack(piece('rest'))
  queue.push(piece('next'))
  assert.equal(textOf(queue), 'rest')
  queue.clear()
  assert.ok(queue.isEmpty)
  queue.push(piece('new'))
  assert.equal(textOf(queue), 'new')
})
