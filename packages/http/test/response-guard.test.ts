import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guardResponse, isEngineField, type ResponseHead, statusLine, statusText } from '../src/index.ts'

function guarded(head: ResponseHead): { head: ResponseHead; dropped: string[] } {
  const dropped: string[] = []
  return { head: guardResponse(head, (name, reason) => dropped.push(`${name}: ${reason}`)), dropped }
}

for (const value of ['a\r\nSet-Cookie: x=1', 'a\rb', 'a\nb', 'a\0b', '\x1b[0m', 'a\x7f']) {
  test(`drops a field with the value ${JSON.stringify(value)} and says so`, () => {
    const { head, dropped } = guarded({
      status: 200,
      headers: [
        ['x-a', value],
        ['x-b', 'ok'],
      ],
    })
    assert.deepEqual(head, { status: 200, headers: [['x-b', 'ok']] })
    assert.deepEqual(dropped, ['x-a: bad_value'])
  })
}

for (const name of ['', 'a b', 'a:', 'a\r\nb', '\u00e9']) {
  test(`drops a field with the name ${JSON.stringify(name)} and says so`, () => {
    const { head, dropped } = guarded({ status: 200, headers: [[name, 'x']] })
    assert.deepEqual(head.headers, [])
    assert.deepEqual(dropped, [`${name}: bad_name`])
  })
}

for (const name of [
  'Connection',
  'keep-alive',
  'Transfer-Encoding',
  'content-length',
  'UPGRADE',
  'te',
  'trailer',
  'proxy-connection',
  'Date',
]) {
  test(`leaves ${name} to the engine without a report (RFC 9110 section 7.6.1)`, () => {
    assert.deepEqual(guarded({ status: 200, headers: [[name, 'x']] }), { head: { status: 200, headers: [] }, dropped: [] })
    assert.equal(isEngineField(name), true)
  })
}

for (const status of [0, 99, 100, 101, 199, 600, 200.5, Number.NaN, Number.POSITIVE_INFINITY, -1]) {
  test(`answers 500 in place of the status ${status}`, () => {
    const { head, dropped } = guarded({ status, headers: [] })
    assert.equal(head.status, 500)
    assert.deepEqual(dropped, [':status: bad_status'])
  })
}

test('writes text beyond latin-1 as its UTF-8 bytes, so that no character becomes a line feed', () => {
  const { head, dropped } = guarded({
    status: 200,
    headers: [
      ['x-a', '\u010aSet-Cookie: a'],
      ['x-b', '\u20ac'],
    ],
  })
  const bytes = head.headers.map(([, value]) => Buffer.from(value, 'latin1'))
  assert.equal(bytes[0]?.includes(0x0a), false)
  assert.equal(bytes[0]?.toString('utf8'), '\u010aSet-Cookie: a')
  assert.equal(bytes[1]?.toString('utf8'), '\u20ac')
  assert.deepEqual(dropped, [])
})

test('returns a valid head unchanged', () => {
  const head: ResponseHead = {
    status: 304,
    headers: [
      ['etag', '"a"'],
      ['x-latin', 'caf\u00e9'],
      ['x-empty', ''],
    ],
  }
  assert.equal(guardResponse(head), head)
})

test('names statuses', () => {
  assert.deepEqual(
    [statusText(404), statusText(599), statusLine(200), statusLine(599)],
    ['Not Found', 'Unknown', '200 OK', '599 Unknown'],
  )
})
