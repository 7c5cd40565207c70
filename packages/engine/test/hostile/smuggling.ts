import { get, type HostileCase, post, smuggled } from './case.ts'

const cut = { allow: [[400], [501], [505], [200], []], then: 'closed' } as const
/** Engine node reads it right, so that the request behind it is one. */
const understood = { node: { allow: [[200, 200]], marks: [1] } } as const
const chunked = (body: string, target = '/echo') => `${post(target, 'Transfer-Encoding: chunked')}${body}${smuggled}`

/** Requests behind which another one is hidden that must never run. Each also comes with the hidden one in a segment of its own. */
const preventable: readonly HostileCase[] = [
  { name: 'behind lengths 0 and n', send: [post('/echo', 'Content-Length: 0', `Content-Length: 60`), smuggled], ...cut },
  { name: 'behind a length and an empty one', send: [post('/echo', 'Content-Length:', 'Content-Length: 60'), smuggled], ...cut },
  { name: 'behind an empty encoding', send: [post('/echo', 'Transfer-Encoding:'), smuggled], ...cut },
  {
    name: 'behind an empty encoding and a good one',
    send: [post('/echo', 'Transfer-Encoding:', 'Transfer-Encoding: chunked'), smuggled],
    ...cut,
  },
  { name: 'behind encoding identity', send: [post('/echo', 'Transfer-Encoding: identity'), `0\r\n\r\n${smuggled}`], ...cut },
  { name: 'behind encoding xchunked', send: [post('/echo', 'Transfer-Encoding: xchunked'), `0\r\n\r\n${smuggled}`], ...cut },
  {
    name: 'behind length and encoding',
    send: [post('/echo', 'Content-Length: 4', 'Transfer-Encoding: chunked'), `0\r\n\r\n${smuggled}`],
    ...cut,
  },
  { name: 'behind a bad Host', send: ['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', smuggled], ...cut },
  { name: 'behind a bad method', send: ['G(T / HTTP/1.1\r\nHost: a.test\r\n\r\n', smuggled], ...cut },
  { name: 'behind a bad target', send: ['GET /%zz HTTP/1.1\r\nHost: a.test\r\n\r\n', smuggled], ...cut },
  { name: 'behind two Hosts', send: ['GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n', smuggled], ...cut },
  { name: 'behind a missing Host', send: ['GET / HTTP/1.1\r\nX: 1\r\n\r\n', smuggled], ...cut },
  { name: 'behind HTTP/1.0', send: ['GET / HTTP/1.0\r\nHost: a.test\r\n\r\n', smuggled], ...cut },
  { name: 'behind absolute form', send: [get('http://a.test/'), smuggled], ...cut, ...understood },
  { name: 'behind a folded line', send: [get('/', 'X: 1', ' 2'), smuggled], ...cut },
  {
    name: 'behind a declared length over the limit',
    send: [post('/echo', 'Content-Length: 2000000'), smuggled],
    allow: [[413], []],
    then: 'closed',
  },
]

/** The same for chunks, which are answered in a later tick so that whatever stands behind them finds them pending. */
const behindChunks: readonly HostileCase[] = [
  { name: 'behind a good chunked request', send: [chunked('5\r\nhello\r\n0\r\n\r\n')], ...cut, ...understood },
  { name: 'behind a chunked request answered at once', send: [chunked('0\r\n\r\n', '/')], ...cut, ...understood },
  { name: 'behind a chunked request answered later', send: [chunked('0\r\n\r\n', '/async')], ...cut, ...understood },
  { name: 'behind a chunked request that fails', send: [chunked('0\r\n\r\n', '/throw')], ...cut, allow: [[500], []] },
  {
    name: 'behind a chunked request with 204',
    send: [chunked('0\r\n\r\n', '/empty')],
    ...cut,
    node: { allow: [[204, 200]], marks: [1] },
  },
  { name: 'behind a chunked request with a stream', send: [chunked('0\r\n\r\n', '/stream')], ...cut, ...understood },
  { name: 'behind a chunked request with a sized stream', send: [chunked('0\r\n\r\n', '/sized')], ...cut, ...understood },
  { name: 'behind an empty chunk size', send: [chunked('\r\n\r\n')], ...cut },
  { name: 'behind a chunk size of space 3', send: [chunked(' 3\r\nabc\r\n0\r\n\r\n')], ...cut },
  { name: 'behind a last chunk with garbage for a line end', send: [chunked('0\r\nXY')], ...cut },
  { name: 'behind a chunk without line end', send: [chunked('5\r\nhelloXX0\r\n\r\n')], ...cut },
  { name: 'behind trailers', send: [chunked('0\r\nX: 1\r\n\r\n')], ...cut, ...understood },
  { name: 'behind line feeds for line ends', send: [chunked('5\nhello\n0\n\n')], allow: [[400], [505], [200], []], then: 'any' },
  {
    name: 'behind a chunk extension on the last chunk',
    send: [chunked('0;a=b\r\n\r\n')],
    allow: [[400], [505], [200], []],
    then: 'idle',
    ...understood,
  },
  {
    name: 'behind a chunk extension',
    send: [chunked('5;a=b\r\nhello\r\n0\r\n\r\n')],
    allow: [[400], [505], [413], [200], []],
    then: 'idle',
    ...understood,
  },
  {
    name: 'behind a chunk size of letters past f',
    send: [chunked('g\r\nhello\r\n0\r\n\r\n')],
    allow: [[400], [505], [200], []],
    then: 'idle',
  },
]

function inOneSegment(hostile: HostileCase): HostileCase {
  return { ...hostile, name: `${hostile.name}, in one segment`, send: [hostile.send.join('')] }
}

export const smugglingCases: readonly HostileCase[] = [...preventable, ...preventable.map(inOneSegment), ...behindChunks]

/**
 * Requests that uWebSockets.js hides from JavaScript, so that they cannot be prevented: the request behind runs. It runs on the sender's own
 * connection and after the first one. docs/http-engine.md names them.
 */
export const unpreventableCases: readonly HostileCase[] = [
  {
    name: 'an empty field name hides the Content-Length behind it',
    send: [`${post('/echo', ': x', 'Content-Length: 60')}${smuggled}`],
    allow: [[200, 200]],
    then: 'open',
    marks: [1],
    node: { allow: [[400]], then: 'closed', marks: [0] },
  },
  {
    name: 'an empty field name hides the Transfer-Encoding behind it',
    send: [`${post('/echo', ': x', 'Transfer-Encoding: chunked')}${smuggled}`],
    allow: [[200, 200]],
    then: 'open',
    marks: [1],
    node: { allow: [[400]], then: 'closed', marks: [0] },
  },
  {
    name: 'an empty field name hides a second Host',
    send: ['GET /show HTTP/1.1\r\nHost: a.test\r\n: x\r\nHost: b.test\r\n\r\n'],
    allow: [[200], [400]],
    then: 'any',
    lacks: 'b.test',
  },
]
