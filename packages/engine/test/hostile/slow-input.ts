import { get, type HostileCase, post } from './case.ts'

/** The same text cut in two at every point. */
function splits(name: string, text: string, rest: Pick<HostileCase, 'allow' | 'then' | 'contains'>): HostileCase[] {
  const cases: HostileCase[] = []
  for (let at = 1; at < text.length; at++) {
    cases.push({ name: `${name} split at ${at}`, send: [text.slice(0, at), text.slice(at)], ...rest })
  }
  return cases
}

const bytewise = (text: string) => [...text]

/** Input in pieces, and clients that stop. */
export const slowInputCases: readonly HostileCase[] = [
  ...splits('GET', get('/show?a=b'), { allow: [[200]], then: 'open', contains: '"query":"a=b"' }),
  ...splits('POST', `${post('/echo', 'Content-Length: 5')}hello`, { allow: [[200]], then: 'open', contains: '\r\n\r\nhello' }),
  ...splits('chunked POST', `${post('/echo', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`, {
    allow: [[200]],
    then: 'closed',
    contains: '\r\n\r\nhello',
  }),
  ...splits('refused GET', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', { allow: [[400]], then: 'closed' }),
  { name: 'GET byte by byte', send: bytewise(get('/')), allow: [[200]], then: 'open' },
  { name: 'POST byte by byte', send: bytewise(`${post('/echo', 'Content-Length: 5')}hello`), allow: [[200]], then: 'open' },
  {
    name: 'chunks byte by byte',
    send: bytewise(`${post('/echo', 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`),
    allow: [[200]],
    then: 'closed',
  },
  { name: 'two requests byte by byte', send: bytewise(get('/') + get('/')), allow: [[200, 200]], then: 'open' },
]

/** Clients that say nothing more: the library ends them after its idle time. */
export const idleCases: readonly HostileCase[] = [
  { name: 'nothing sent', send: [], allow: [[]], then: 'idle' },
  { name: 'half a request line', send: ['GET /'], allow: [[]], then: 'idle' },
  { name: 'half a head', send: ['GET / HTTP/1.1\r\nHost: a.te'], allow: [[]], then: 'idle' },
  { name: 'idle after a request', send: [get('/')], allow: [[200]], then: 'idle' },
  { name: 'a body that stops', send: [post('/echo', 'Content-Length: 10'), 'hell'], allow: [[408], []], then: 'idle' },
  { name: 'chunks that stop', send: [post('/echo', 'Transfer-Encoding: chunked'), '5\r\nhel'], allow: [[408], []], then: 'idle' },
]

/** Clients that leave. */
export const endingCases: readonly HostileCase[] = [
  { name: 'leaves before a byte', send: [], allow: [[]], then: 'closed', ending: 'half-close' },
  {
    name: 'leaves in the request line',
    send: ['GET /'],
    allow: [[]],
    then: 'closed',
    ending: 'half-close',
    node: { allow: [[400], []] },
  },
  {
    name: 'leaves in the head',
    send: ['GET / HTTP/1.1\r\nHo'],
    allow: [[]],
    then: 'closed',
    ending: 'half-close',
    node: { allow: [[400], []] },
  },
  {
    name: 'leaves in the body',
    send: [post('/echo', 'Content-Length: 10'), 'hell'],
    allow: [[]],
    then: 'closed',
    ending: 'half-close',
    node: { allow: [[400], []] },
  },
  {
    name: 'leaves in a chunk',
    send: [post('/echo', 'Transfer-Encoding: chunked'), '5\r\nhe'],
    allow: [[]],
    then: 'closed',
    ending: 'half-close',
    node: { allow: [[400], []] },
  },
  {
    name: 'half close behind a request answered at once',
    send: [get('/')],
    allow: [[200], []],
    then: 'closed',
    ending: 'half-close',
  },
  {
    name: 'half close while the answer is pending',
    send: [get('/never')],
    allow: [[]],
    then: 'closed',
    ending: 'half-close',
    node: { allow: [[504]] },
  },
  { name: 'half close while a stream runs', send: [get('/large')], allow: [[200], []], then: 'any', ending: 'half-close' },
  { name: 'reset in the head', send: ['GET / HTTP/1.1\r\nHo'], allow: [[]], then: 'closed', ending: 'reset' },
  {
    name: 'reset in the body',
    send: [post('/echo', 'Content-Length: 10'), 'hell'],
    allow: [[]],
    then: 'closed',
    ending: 'reset',
  },
  { name: 'reset while the answer is pending', send: [get('/never')], allow: [[]], then: 'closed', ending: 'reset' },
  { name: 'reset while a stream runs', send: [get('/stream')], allow: [[200], []], then: 'closed', ending: 'reset' },
  { name: 'reset while a large answer runs', send: [get('/large')], allow: [[200], []], then: 'closed', ending: 'reset' },
]
