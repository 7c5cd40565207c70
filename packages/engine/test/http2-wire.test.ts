import assert from 'node:assert/strict'
import type { ServerHttp2Stream } from 'node:http2'
import { test } from 'node:test'
import { Http2Wire } from '../src/node/http2-wire.ts'
import { NodeHeads } from '../src/node/node-head.ts'

test('the fields of a head that is sent again are built once, with the date of the moment', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) })
  const sent: string[][] = []
  const lists = new Set<readonly string[]>()
  const stream = {
    closed: false,
    destroyed: false,
    respond(fields: readonly string[]) {
      lists.add(fields)
      sent.push([...fields])
    },
  }
  // The wire uses no more of a stream for a head.
  const wire = new Http2Wire(stream as unknown as ServerHttp2Stream, [], { pending: 1 })
  const heads = new NodeHeads((error) => assert.fail(error))
  const head = heads.of({ status: 200, headers: Object.freeze([['x-a', '1'] as const]) })
  const answer = (length: number | undefined) => wire.head(head, { length, closes: false })
  answer(5)
  answer(5)
  t.mock.timers.setTime(Date.UTC(2026, 0, 1, 0, 0, 1))
  answer(5)
  answer(7)
  const first = [':status', '200', 'x-a', '1', 'content-length', '5', 'date']
  assert.deepEqual(sent, [
    [...first, 'Thu, 01 Jan 2026 00:00:00 GMT'],
    [...first, 'Thu, 01 Jan 2026 00:00:00 GMT'],
    [...first, 'Thu, 01 Jan 2026 00:00:01 GMT'],
    [':status', '200', 'x-a', '1', 'content-length', '7', 'date', 'Thu, 01 Jan 2026 00:00:01 GMT'],
  ])
  assert.equal(lists.size, 2)

  const dated = heads.of({ status: 200, headers: Object.freeze([['Date', 'theirs'] as const]) })
  wire.head(dated, { length: 1, closes: false })
  assert.deepEqual(sent.at(-1), [':status', '200', 'content-length', '1', 'date', 'Thu, 01 Jan 2026 00:00:01 GMT'])
})
