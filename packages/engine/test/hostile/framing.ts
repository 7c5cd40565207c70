import { answered, type HostileCase, post, refused, refusedOrCut, smuggled } from './case.ts'

const length = (value: string, body = '') => `${post('/echo', `Content-Length: ${value}`)}${body}`
const encoded = (value: string, body = '5\r\nhello\r\n0\r\n\r\n') => `${post('/echo', `Transfer-Encoding: ${value}`)}${body}`
const chunked = (body: string, target = '/echo') => `${post(target, 'Transfer-Encoding: chunked')}${body}`
const closing = { allow: [[200]], then: 'closed' } as const
const cut = { allow: [[400], [200], [505], []], then: 'closed' } as const

/** How long a request is (RFC 9112 section 6). */
export const framingCases: readonly HostileCase[] = [
  { name: 'good length', send: [length('5', 'hello')], ...answered, contains: 'hello' },
  { name: 'good chunks', send: [chunked('5\r\nhello\r\n0\r\n\r\n')], ...closing, contains: 'hello' },
  { name: 'chunks in capitals', send: [encoded('Chunked')], ...closing, contains: 'hello' },
  { name: 'chunks, answered without reading', send: [chunked('5\r\nhello\r\n0\r\n\r\n', '/')], ...closing },
  { name: 'chunks, streamed answer', send: [chunked('5\r\nhello\r\n0\r\n\r\n', '/stream')], allow: [[200]], then: 'any' },
  { name: 'chunks, sized stream', send: [chunked('5\r\nhello\r\n0\r\n\r\n', '/sized')], ...closing },
  { name: 'chunks, empty answer', send: [chunked('5\r\nhello\r\n0\r\n\r\n', '/empty')], allow: [[204]], then: 'any' },
  { name: 'no chunk but the last', send: [chunked('0\r\n\r\n')], ...closing },
  {
    name: 'chunk size with leading zeros',
    send: [chunked('0005\r\nhello\r\n0\r\n\r\n')],
    allow: [[200], [400], []],
    then: 'closed',
  },
  { name: 'length with plus', send: [length('+5', 'hello')], ...refused },
  { name: 'length with minus', send: [length('-5', 'hello')], ...refused },
  { name: 'length in hexadecimal', send: [length('0x5', 'hello')], ...refused },
  { name: 'length with point', send: [length('5.0', 'hello')], ...refused },
  { name: 'length with exponent', send: [length('5e0', 'hello')], ...refused },
  { name: 'length list', send: [length('5, 5', 'hello')], ...refused },
  { name: 'length with inner space', send: [length('5 5', 'hello')], ...refused },
  { name: 'length in words', send: [length('five', 'hello')], ...refused },
  { name: 'length over 2^64', send: [length('18446744073709551621', 'hello')], ...refused },
  { name: 'length with vertical tab', send: [length('\x0b5', 'hello')], ...refused },
  { name: 'empty length', send: [length('', 'hello')], ...refused },
  { name: 'empty length before a good one', send: [`${post('/echo', 'Content-Length:', 'Content-Length: 5')}hello`], ...refused },
  { name: 'two equal lengths', send: [`${post('/echo', 'Content-Length: 5', 'Content-Length: 5')}hello`], ...refused },
  { name: 'two different lengths', send: [`${post('/echo', 'Content-Length: 5', 'Content-Length: 6')}hello!`], ...refusedOrCut },
  {
    name: 'length and chunks',
    send: [`${post('/echo', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ...refused,
  },
  {
    name: 'chunks and length',
    send: [`${post('/echo', 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n`],
    ...refused,
  },
  { name: 'length and empty encoding', send: [`${post('/echo', 'Content-Length: 5', 'Transfer-Encoding:')}hello`], ...refused },
  { name: 'empty encoding', send: [encoded('')], ...refusedOrCut },
  {
    name: 'empty encoding, then chunked',
    send: [`${post('/echo', 'Transfer-Encoding:', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ...refusedOrCut,
  },
  {
    name: 'chunked twice',
    send: [`${post('/echo', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ...refused,
  },
  { name: 'chunked listed twice', send: [encoded('chunked, chunked')], ...refusedOrCut },
  { name: 'encoding identity', send: [encoded('identity')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding xchunked', send: [encoded('xchunked')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding gzip, chunked', send: [encoded('gzip, chunked')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding chunked, identity', send: [encoded('chunked, identity')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding chunked;q=1', send: [encoded('chunked;q=1')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding "chunked"', send: [encoded('"chunked"')], allow: [[400], [501]], then: 'closed' },
  { name: 'encoding with vertical tab', send: [encoded('\x0bchunked')], ...refusedOrCut },
  { name: 'chunk size with plus', send: [chunked('+5\r\nhello\r\n0\r\n\r\n')], ...cut },
  { name: 'chunk size with minus', send: [chunked('-5\r\nhello\r\n0\r\n\r\n')], ...cut },
  { name: 'chunk size 0x5', send: [chunked('0x5\r\nhello\r\n0\r\n\r\n')], ...cut },
  { name: 'chunk size zz', send: [chunked('zz\r\nhello\r\n0\r\n\r\n')], ...cut },
  { name: 'chunk size that overflows', send: [chunked(`${'f'.repeat(17)}\r\nhello\r\n0\r\n\r\n`)], ...cut },
  { name: 'chunk size with space behind', send: [chunked('5 \r\nhello\r\n0\r\n\r\n')], ...cut },
  { name: 'trailers', send: [chunked('5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n')], ...cut },
  {
    name: 'get with a body',
    send: ['GET /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello'],
    ...answered,
    contains: 'hello',
  },
  {
    name: 'head with a body',
    send: ['HEAD / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello'],
    ...answered,
    heads: [0],
  },
  {
    name: 'body sent before 100 Continue',
    send: [`${post('/echo', 'Content-Length: 5', 'Expect: 100-continue')}hello`],
    allow: [[100, 200]],
    then: 'open',
    contains: 'hello',
  },
  { name: 'body answered before it came', send: [post('/', 'Content-Length: 5'), 'hello'], ...answered },
  {
    name: 'more body than declared',
    send: [`${length('5', 'hello')}GARBAGE`],
    allow: [[200], [200, 400], [200, 505]],
    then: 'any',
  },
  {
    name: 'body of a refused request',
    send: [`POST /echo HTTP/1.1\r\nHost: a b\r\nContent-Length: 5\r\n\r\n`, 'hello'],
    ...refused,
  },
  {
    name: 'request hidden in the body of a refused one',
    send: [`POST /echo HTTP/1.1\r\nHost: a b\r\nContent-Length: ${smuggled.length + 24}\r\n\r\n`, smuggled, 'x'.repeat(40)],
    allow: [[400]],
    then: 'closed',
  },
]
