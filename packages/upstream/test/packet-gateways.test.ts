import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestTexts } from '../src/cgi/request-texts.ts'
import type { AnswerEvents } from '../src/http/answer-parser.ts'
import type { OriginRequest } from '../src/origin/origin.ts'
import { CgiReader } from '../src/packet/cgi-reader.ts'
import { scgi } from '../src/packet/scgi-gateway.ts'
import { uwsgi } from '../src/packet/uwsgi-gateway.ts'
import { request } from './raw-upstream.ts'

/** Reports of a reader about bytes that come in pieces; at the end the connection closes. */
function told(pieces: readonly string[], { isHead = false, closes = true } = {}): readonly string[] {
  const log: string[] = []
  const events: AnswerEvents = {
    interim: () => log.push('interim'),
    head: ({ status, headers, keepsAlive }, length, body) =>
      log.push(
        `${status} ${headers.map((pair) => pair.join('=')).join('&')} ${length} ${body?.toString()}${keepsAlive ? ' kept' : ''}`,
      ),
    data: (bytes) => log.push(Buffer.from(bytes).toString('latin1')),
    diagnostics: () => log.push('diagnostics'),
    ended: () => log.push('end'),
  }
  const reader = new CgiReader(events)
  reader.expect(isHead)
  for (const piece of pieces) reader.push(Buffer.from(piece, 'latin1'))
  if (closes && !reader.close() && !log.includes('end')) log.push(`cut ${reader.state} ${reader.problem}`)
  return log
}

test('a response of a CGI application ends with its declared length, or with the connection', () => {
  assert.deepEqual(told(['HTTP/1.1 404 Gone\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok']), ['404 x-a=1 2 ok', 'end'])
  assert.deepEqual(told(['Status: 201 Made\nX-A: 1\n\nso', 'me']), ['201 x-a=1 undefined undefined', 'so', 'me', 'end'])
  assert.deepEqual(told(['Location: /x\r\n\r\n']), ['302 location=/x undefined undefined', 'end'])
  assert.deepEqual(told(['HTTP/1.0 200 OK\r\nStat', 'us: 500\r\n\r', '\n']), ['200  undefined undefined', 'end'])
  assert.deepEqual(told(['HTTP/1.0 200 OK\r\n\r\n'], { isHead: true }), ['200  undefined ', 'end'])
  assert.deepEqual(told(['HTTP/1.0 304 Same\r\nContent-Length: 9\r\n\r\nbody']), ['304  0 ', 'end'])
})

test('bytes beyond the declared length are dropped', () => {
  assert.deepEqual(told(['Content-Length: 2\r\n\r\n', 'okay', 'more']), ['200  2 undefined', 'ok', 'end'])
  assert.deepEqual(told(['Content-Length: 2\r\n\r\nokay']), ['200  2 ok', 'end'])
})

test('a response that breaks the protocol or ends too early is none', () => {
  assert.deepEqual(told(['Content-Length: 5\r\n\r\nab']), ['200  5 undefined', 'ab', 'cut reading '])
  assert.deepEqual(told(['']), ['cut reading '])
  assert.deepEqual(told(['HTTP/1.1 200 OK\r\nX-A: 1\r\n']), ['cut reading '])
  assert.deepEqual(told(['HTTP/1.1 100 Continue\r\n\r\n']), ['cut bad an invalid status line'])
  for (const bad of ['HTTP/1.1 2x0 OK\r\n\r\n', 'no field\r\n\r\n', 'Content-Length: x\r\n\r\n', 'Status: abc\r\n\r\n'])
    assert.match(told([bad]).join(), /^cut bad /, bad)
  assert.deepEqual(told([`X-A: ${'x'.repeat(70_000)}`, '\r\n\r\n']), ['cut bad a head that is too long'])
})

const ofParams = (...params: (readonly [string, string])[]): Partial<OriginRequest> => ({
  cgi: { params, configured: new Set(params.map(([name]) => name)), onErrorLine: () => undefined },
})
const body = (length: number | undefined) => ({ isPresent: true, length, read: () => undefined })

test('uwsgi sends its parameters in one packet of 16 bits, behind its modifiers', () => {
  const texts = new RequestTexts(uwsgi({ modifier1: 5, modifier2: 7, string: 'tail' }))
  const text = texts.of(request({ headers: [['x-a', '1']], ...ofParams(['A', 'b']) }), false)
  assert.equal(text, '\x05\x17\0\x07\x01\0A\x01\0b\x08\0HTTP_X_A\x01\x001tail')
  assert.equal(texts.of(request(ofParams(['A', 'x'.repeat(70_000)])), false), undefined)
  assert.equal(texts.of(request(ofParams(['A', 'x'.repeat(65_530)], ['B', 'x'])), false), undefined)
})

test('SCGI sends a netstring that begins with the length of the body', () => {
  const texts = new RequestTexts(scgi)
  assert.equal(texts.of(request({ headers: [], ...ofParams(['SCGI', '1']) }), false), '24:CONTENT_LENGTH\x000\0SCGI\x001\0,')
  const sent = texts.of(request({ headers: [], body: body(12), ...ofParams(['CONTENT_LENGTH', '9']) }), false)
  assert.equal(sent, '36:CONTENT_LENGTH\x0012\0CONTENT_LENGTH\x0012\0,')
})
