import { answered, get, type HostileCase, post } from './case.ts'

const many = (count: number) => Array.from({ length: count }, (_, at) => `X-${at}: ${at}`)

/** Huge and tiny things. The server allows 16384 bytes of head and 1,000,000 bytes of body. */
export const sizeCases: readonly HostileCase[] = [
  { name: 'head of 12 KB', send: [get('/', `X-A: ${'a'.repeat(12_000)}`)], ...answered },
  { name: 'head over the limit', send: [get('/', `X-A: ${'a'.repeat(20_000)}`)], allow: [[431], []], then: 'closed' },
  {
    name: 'head over the limit in two segments',
    send: [`GET / HTTP/1.1\r\nX-A: ${'a'.repeat(9000)}`, 'a'.repeat(9000), '\r\n\r\n'],
    allow: [[431], []],
    then: 'closed',
  },
  { name: 'target of 10 KB', send: [get(`/show?${'q'.repeat(10_000)}`)], ...answered, contains: 'qqqq' },
  { name: 'target over the limit', send: [get(`/${'q'.repeat(30_000)}`)], allow: [[431], []], then: 'closed' },
  { name: 'field name of 5 KB', send: [get('/', `X-${'a'.repeat(5000)}: 1`)], ...answered },
  { name: '90 fields', send: [get('/', ...many(90))], ...answered },
  { name: '120 fields', send: [get('/', ...many(120))], allow: [[431]], then: 'closed' },
  {
    name: 'body at the limit',
    send: [post('/ignore', 'Content-Length: 1000000'), Buffer.alloc(1_000_000, 'x')],
    allow: [[404]],
    then: 'open',
  },
  {
    name: 'declared length over the limit, body not sent',
    send: [post('/echo', 'Content-Length: 1000001')],
    allow: [[413]],
    then: 'closed',
  },
  {
    name: 'declared length over the limit, body sent',
    send: [post('/echo', 'Content-Length: 1500000'), Buffer.alloc(1_500_000, 'x')],
    allow: [[413]],
    then: 'closed',
  },
  {
    name: 'declared length of 15 digits',
    send: [post('/echo', 'Content-Length: 999999999999999')],
    allow: [[413]],
    then: 'closed',
  },
  {
    name: 'declared length of 16 digits',
    send: [post('/echo', 'Content-Length: 9999999999999999')],
    allow: [[400], [413]],
    then: 'closed',
  },
  {
    name: 'declared length of 30 digits',
    send: [post('/echo', `Content-Length: ${'9'.repeat(30)}`)],
    allow: [[400]],
    then: 'closed',
  },
  {
    name: 'chunked body that outgrows the limit',
    send: [
      post('/echo', 'Transfer-Encoding: chunked'),
      ...Array.from({ length: 12 }, () => `186a0\r\n${'c'.repeat(100_000)}\r\n`),
      '0\r\n\r\n',
    ],
    allow: [[413]],
    then: 'closed',
  },
  { name: 'empty body declared', send: [post('/echo', 'Content-Length: 0')], ...answered },
  { name: 'body of one byte', send: [post('/echo', 'Content-Length: 1'), 'x'], ...answered, contains: '\r\n\r\nx' },
  { name: 'large answer', send: [get('/large')], ...answered },
  { name: 'streamed answer', send: [get('/stream')], ...answered },
]
