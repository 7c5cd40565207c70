import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorLines } from '../src/cgi/error-lines.ts'
import { RequestTexts } from '../src/cgi/request-texts.ts'
import { fastcgi } from '../src/fastcgi/fastcgi-gateway.ts'
import { FastcgiReader } from '../src/fastcgi/fastcgi-reader.ts'
import { encodeParams, RECORD, recordHead, requestBeginning } from '../src/fastcgi/record.ts'
import type { AnswerEvents } from '../src/http/answer-parser.ts'
import { RepeatedHead } from '../src/http/repeated-head.ts'
import type { OriginRequest } from '../src/origin/origin.ts'
import { paramsOf as decodedParams, record, recordsOf } from './fastcgi-wire.ts'
import { request } from './raw-upstream.ts'

const END = record(RECORD.endRequest, Buffer.alloc(8))
const out = (text: string, padding = 0) => record(RECORD.stdout, Buffer.from(text, 'latin1'), padding)
const OUT_END = record(RECORD.stdout, Buffer.alloc(0))

/** Collects the output of a record reader. */
class Heard implements AnswerEvents {
  status = 0
  headers = ''
  length: number | undefined
  body = ''
  log = ''
  isEnded = false
  heads = 0

  interim(): void {
    assert.fail('no CGI answer is interim')
  }

  head({ status, headers }: Parameters<AnswerEvents['head']>[0], length: number | undefined, body: Uint8Array | undefined): void {
    this.heads++
    this.status = status
    this.headers = headers.map((field) => field.join('=')).join(' ')
    this.length = length
    if (body !== undefined) this.data(body)
  }

  data(bytes: Uint8Array): void {
    this.body += Buffer.from(bytes).toString('latin1')
  }

  diagnostics(bytes: Uint8Array): void {
    this.log += Buffer.from(bytes).toString('latin1')
  }

  ended(): void {
    this.isEnded = true
  }
}

function read(pieces: readonly Buffer[], isHead = false): { heard: Heard; reader: FastcgiReader } {
  const heard = new Heard()
  const reader = new FastcgiReader(heard, new RepeatedHead())
  reader.expect(isHead)
  for (const piece of pieces) reader.push(piece)
  return { heard, reader }
}

const BROKEN: readonly (readonly [what: string, bytes: Buffer, problem: string, state?: string])[] = [
  ['another version', Buffer.from([2, 6, 0, 1, 0, 0, 0, 0]), 'bytes that are not FastCGI records'],
  ['HTTP', Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), 'bytes that are not FastCGI records'],
  ['another request', record(RECORD.stdout, Buffer.from('a'), 0, 2), 'a record of another request'],
  ['a type of requests', record(RECORD.stdin, Buffer.from('a')), 'a record of type 5'],
  ['an unknown type', record(77, Buffer.from('a')), 'a record of type 77'],
  ['no head', Buffer.concat([OUT_END, END]), 'a response without a complete head'],
  ['half a head', Buffer.concat([out('X: y\r\n'), OUT_END, END]), 'a response without a complete head'],
  [
    'a short end',
    Buffer.concat([out('X: y\n\n'), record(RECORD.endRequest, Buffer.alloc(4))]),
    'a truncated end-of-request record',
  ],
  ['no colon', out('X y\n\n'), 'a field without a colon'],
  ['a name that is none', out('X y: z\n\n'), 'an invalid field name'],
  ['a CR in a value', out('X: y\rz\n\n'), 'a line break or NUL in a field value'],
  ['a NUL in a value', out('X: y\0z\n\n'), 'a line break or NUL in a field value'],
  ['a Status of words', out('Status: fine\n\n'), 'an invalid Status'],
  ['an interim Status', out('Status: 103 Early\n\n'), 'an invalid Status'],
  ['a Status out of range', out('Status: 600\n\n'), 'an invalid Status'],
  ['a length of words', out('Content-Length: ten\n\n'), 'an invalid Content-Length'],
  ['two lengths', out('Content-Length: 1\nContent-Length: 1\n\n'), 'more than one Content-Length'],
  ['a short body', Buffer.concat([out('Content-Length: 9\n\nshort'), END]), 'a body that is shorter than declared'],
  [
    'output after the end of the stream',
    Buffer.concat([out('X: y\n\na'), OUT_END, out('b')]),
    'output after the end of the stream',
  ],
  ['bytes after the end of the response', Buffer.concat([out('X: y\n\na'), END, OUT_END]), 'bytes after the end of the response'],
  [
    'an endless head',
    Buffer.concat([out('X: '), ...Array.from({ length: 9 }, () => out('y'.repeat(8192)))]),
    'a head that is too long',
  ],
  ['overload', record(RECORD.endRequest, Buffer.from([0, 0, 0, 0, 2, 0, 0, 0])), 'the application is overloaded', 'refused'],
  [
    'no multiplexing',
    record(RECORD.endRequest, Buffer.from([0, 0, 0, 0, 1, 0, 0, 0])),
    'the application takes one request at a time',
    'refused',
  ],
  [
    'no such role',
    record(RECORD.endRequest, Buffer.from([0, 0, 0, 0, 3, 0, 0, 0])),
    'the application does not support the responder role',
    'refused',
  ],
]

for (const [what, bytes, problem, state = 'bad'] of BROKEN) {
  test(`refused in an answer: ${what}`, () => {
    for (const pieces of [[bytes], Array.from(bytes, (byte) => Buffer.from([byte]))]) {
      const { reader } = read(pieces)
      assert.deepEqual([reader.state, reader.problem], [state, problem])
    }
  })
}

test('unsolicited bytes are rejected', () => {
  const reader = new FastcgiReader(new Heard(), new RepeatedHead())
  reader.push(END)
  assert.equal(reader.state, 'bad')
})

const GOOD: readonly (readonly [output: string, status: number, headers: string, body: string])[] = [
  ['Content-Type: text/html\r\n\r\nbody', 200, 'content-type=text/html', 'body'],
  ['Content-Type: text/html\n\nbody', 200, 'content-type=text/html', 'body'],
  ['Status: 404 Not Found\nX-A:  spaced  \n\n', 404, 'x-a=spaced', ''],
  ['Status: 299\n\n\n\nbody', 299, '', '\n\nbody'],
  ['Location: /x\n\n', 302, 'location=/x', ''],
  ['Location: /x\nStatus: 307\n\n', 307, 'location=/x', ''],
  [
    'Status: 201 Created\nLocation: http://a/\nSet-Cookie: a\nSet-Cookie: b\n\n',
    201,
    'location=http://a/ set-cookie=a set-cookie=b',
    '',
  ],
  ['\nonly a body', 200, '', 'only a body'],
  ['Connection: close\nTransfer-Encoding: chunked\nX: y\n\nb', 200, 'x=y', 'b'],
  ['Content-Length: 3\n\nabcdef', 200, '', 'abc'],
  ['Status: 204\n\nbody', 204, '', ''],
  ['X: caf\xe9\n\n\xff\x00', 200, 'x=caf\xe9', '\xff\x00'],
]

test('answers are read, however their bytes are cut', () => {
  let seed = 1
  const random = (limit: number) => {
    seed = (seed * 48_271) % 0x7fff_ffff
    return seed % limit
  }
  for (const [output, status, headers, body] of GOOD) {
    for (let round = 0; round < 60; round++) {
      const records: Buffer[] = [
        record(RECORD.stderr, Buffer.from('oh '), random(9)),
        record(10, Buffer.from('managed'), random(9), 0),
      ]
      for (let from = 0; from < output.length; ) {
        const length = 1 + random(output.length)
        records.push(out(output.slice(from, from + length), random(256)))
        if (random(4) === 0) records.push(record(RECORD.stderr, Buffer.from('no '), random(9)))
        from += length
      }
      if (random(2) === 0) records.push(OUT_END)
      records.push(record(RECORD.endRequest, Buffer.alloc(8), random(9)))
      const bytes = Buffer.concat(records)
      const pieces: Buffer[] = []
      for (let from = 0; from < bytes.byteLength; ) {
        const length = round === 0 ? bytes.byteLength : 1 + random(40)
        pieces.push(bytes.subarray(from, from + length))
        from += length
      }
      const { heard, reader } = read(pieces)
      assert.deepEqual(
        [reader.problem, reader.state, heard.status, heard.headers, heard.body, heard.isEnded, heard.heads],
        ['', 'idle', status, headers, body, true, 1],
        JSON.stringify(output),
      )
      assert.match(heard.log, /^oh (no )*$/)
    }
  }
})

test('an answer that comes at once has a length; HEAD has that of its field alone', () => {
  const whole = Buffer.concat([out('X: y\n\nfive!'), OUT_END, END])
  assert.equal(read([whole]).heard.length, 5)
  assert.equal(read([whole.subarray(0, 20), whole.subarray(20)]).heard.length, undefined)
  const head = read([whole], true).heard
  assert.deepEqual([head.length, head.body], [undefined, ''])
  const declared = read([Buffer.concat([out('Content-Length: 7\n\n'), END])], true).heard
  assert.deepEqual([declared.length, declared.body, declared.isEnded], [7, '', true])
})

test('the end of the output ends an answer that its application closes without END_REQUEST', () => {
  const { heard, reader } = read([out('X: y\n\nall'), OUT_END])
  assert.deepEqual([heard.isEnded, reader.close(), heard.isEnded, heard.body], [false, true, true, 'all'])
  for (const pieces of [[out('X: y\n\nhalf')], [OUT_END], [out('Content-Length: 9\n\nshort'), OUT_END]]) {
    const cut = read(pieces)
    assert.deepEqual([cut.reader.close(), cut.heard.isEnded], [false, false])
  }
})

test('a reader reads one answer after another', () => {
  const heard = new Heard()
  const reader = new FastcgiReader(heard, new RepeatedHead())
  for (const text of ['one', 'two']) {
    heard.body = ''
    reader.expect(false)
    reader.push(Buffer.concat([out(`X: y\n\n${text}`), END]))
    assert.deepEqual([heard.body, reader.state], [text, 'idle'])
  }
})

const written = (...params: (readonly [string, string])[]) => Buffer.from(encodeParams(params), 'latin1')

test('names and values of parameters have one byte of length or four', () => {
  assert.deepEqual(written(['a', 'bc']), Buffer.from([1, 2, 97, 98, 99]))
  assert.deepEqual(written(['é', '\0']), Buffer.from([1, 1, 0xe9, 0]))
  assert.deepEqual(written(['a', 'x'.repeat(127)]).subarray(0, 3), Buffer.from([1, 127, 97]))
  assert.deepEqual(written(['a', 'x'.repeat(128)]).subarray(0, 6), Buffer.from([1, 0x80, 0, 0, 128, 97]))
  const long = 'y'.repeat(70_000)
  assert.deepEqual(written([long, 'v']).subarray(0, 5), Buffer.from([0x80, 1, 0x11, 0x70, 1]))
  assert.deepEqual(written(['', 'z'.repeat(0x12_34_56_7)]).subarray(0, 5), Buffer.from([0, 0x81, 0x23, 0x45, 0x67]))
})

const recordsIn = (text: string) => recordsOf(Buffer.from(text, 'latin1'))

test('a request begins with its role, and parameters in as many records as they take', () => {
  const records = recordsIn(requestBeginning(encodeParams([['a', 'z'.repeat(150_000)]]), true))
  assert.deepEqual(
    records.map(({ type, content }) => [type, content.byteLength]),
    [
      [RECORD.beginRequest, 8],
      [RECORD.params, 65_528],
      [RECORD.params, 65_528],
      [RECORD.params, 150_006 - 2 * 65_528],
      [RECORD.params, 0],
    ],
  )
  assert.deepEqual(records[0]?.content, Buffer.from([0, 1, 1, 0, 0, 0, 0, 0]))
  assert.deepEqual(recordsIn(requestBeginning('', false))[0]?.content, Buffer.from([0, 1, 0, 0, 0, 0, 0, 0]))
  assert.deepEqual(recordHead(RECORD.stdin, 0x1234), '\x01\x05\0\x01\x12\x34\0\0')
})

const cgi = (...params: (readonly [string, string])[]) => ({
  params,
  configured: new Set(params.map(([name]) => name)),
  onErrorLine: () => undefined,
})
/** The parameters of a request as they are sent, in their order. */
const sentParams = (sent: OriginRequest) => [
  ...decodedParams({ records: recordsIn(new RequestTexts(fastcgi).of(sent, false) ?? '') }),
]
const body = (length: number) => ({ isPresent: true, length, read: () => undefined })

test('fields become parameters, where none of that name is configured', () => {
  const headers = [
    ['host', 'a.test'],
    ['x-a', '1'],
    ['x-a', '2'],
    ['cookie', 'a=1'],
    ['cookie', 'b=2'],
    ['proxy', 'http://evil.test/'],
    ['x-set', 'by the client'],
    ['x_set', 'by the client'],
    ['x_b', '3'],
  ] as const
  assert.deepEqual(sentParams(request({ headers, cgi: { ...cgi(), configured: new Set(['HTTP_X_SET', 'P']) } })), [
    ['HTTP_HOST', 'a.test'],
    ['HTTP_X_A', '1, 2'],
    ['HTTP_COOKIE', 'a=1; b=2'],
    ['HTTP_X_B', '3'],
  ])
})

test('a request is serialised again when it differs from the previous one', () => {
  const texts = new RequestTexts(fastcgi)
  const own = cgi(['P', '1'], ['REQUEST_METHOD', 'HEAD'])
  const headers = Object.freeze([['x-a', '1']] as const)
  const paramsOf = (changed: Partial<OriginRequest>) =>
    recordsIn(texts.of(request({ method: 'HEAD', headers, cgi: own, ...changed }), true) ?? '')
      .map(({ type, content }) => `${type} ${content.toString('latin1')}`)
      .join('; ')
  const first = paramsOf({})
  assert.equal(paramsOf({}), first)
  for (const changed of [
    { cgi: cgi(['P', '2']) },
    { headers: Object.freeze([['x-a', '2']] as const) },
    { headers: [['x-a', '3']] as const },
    { headers: [['x-a', '4']] as const },
    { cgi: { ...own, configured: new Set(['HTTP_X_A']) } },
    { method: 'GET' },
    { body: body(0) },
    { body: body(5) },
  ]) {
    const text = paramsOf(changed)
    assert.notEqual(text, first)
    assert.equal(paramsOf({}), first)
  }
  assert.notEqual(texts.of(request({ headers, cgi: own }), true), texts.of(request({ headers, cgi: own }), false))
})

test('the length is that of the body that is sent', () => {
  const lengthOf = (params: readonly (readonly [string, string])[]) => params.find(([name]) => name === 'CONTENT_LENGTH')?.[1]
  assert.equal(lengthOf(sentParams(request({ cgi: cgi(['CONTENT_LENGTH', '9']) }))), '')
  assert.equal(lengthOf(sentParams(request({ cgi: cgi(['CONTENT_LENGTH', '']), body: body(5) }))), '5')
  assert.equal(lengthOf(sentParams(request({ cgi: cgi(), body: body(5) }))), '5')
  assert.equal(lengthOf(sentParams(request({ cgi: cgi() }))), undefined)
})

test('a GET that a cache sends is not announced as HEAD', () => {
  const methodOf = (method: string, said: string) =>
    sentParams(request({ method, cgi: cgi(['REQUEST_METHOD', said]) })).find(([name]) => name === 'REQUEST_METHOD')?.[1]
  assert.deepEqual([methodOf('GET', 'HEAD'), methodOf('HEAD', 'HEAD'), methodOf('POST', 'GET')], ['GET', 'HEAD', 'GET'])
})

test('lines of an application are logged one by one, within bounds', () => {
  const lines: string[] = []
  const errors = new ErrorLines((line) => lines.push(line))
  errors.push(Buffer.from('one\ntw'))
  errors.push(Buffer.from('o\r\n\n  \nthree'))
  assert.deepEqual(lines, ['one', 'two'])
  errors.flush()
  errors.flush()
  assert.deepEqual(lines, ['one', 'two', 'three'])
  errors.push(Buffer.alloc(9000, 'x'))
  assert.deepEqual(
    lines.slice(3).map(({ length }) => length),
    [8192, 808],
  )
  for (let i = 0; i < 100; i++) errors.push(Buffer.from(`${'y'.repeat(999)}\n`))
  assert.ok(lines.join('').length < 66_000)
  assert.match(lines.at(-1) ?? '', /further output omitted/)
})

test('an application that writes many short lines does not fill the log', () => {
  const lines: string[] = []
  const errors = new ErrorLines((line) => lines.push(line))
  for (let i = 0; i < 3; i++) errors.push(Buffer.from('a\n'.repeat(20_000)))
  errors.flush()
  assert.equal(lines.length, 513)
  assert.match(lines.at(-1) ?? '', /further output omitted/)
})

test('omitted output is marked, even when the output before filled the limit exactly', () => {
  const lines: string[] = []
  const errors = new ErrorLines((line) => lines.push(line))
  errors.push(Buffer.from(`${'x'.repeat(1023)}\n`.repeat(64)))
  assert.equal(lines.length, 64)
  errors.push(Buffer.from('more\n'))
  assert.deepEqual(lines.slice(64), ['(further output omitted)'])
})
