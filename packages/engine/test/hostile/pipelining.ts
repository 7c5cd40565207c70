import { get, type HostileCase, head, post } from './case.ts'

const times = (count: number, text: string) => Array.from({ length: count }, () => text).join('')

/** Several requests at once (RFC 9112 section 9.3.2). */
export const pipeliningCases: readonly HostileCase[] = [
  { name: 'two at once', send: [get('/') + get('/show')], allow: [[200, 200]], then: 'open' },
  { name: 'ten at once', send: [times(10, get('/'))], allow: [Array(10).fill(200)], then: 'open' },
  { name: 'two hundred at once', send: [times(200, get('/'))], allow: [Array(200).fill(200)], then: 'open' },
  {
    name: 'HEAD between GETs',
    send: [get('/') + head('HEAD / HTTP/1.1') + get('/')],
    allow: [[200, 200, 200]],
    then: 'open',
    heads: [1],
  },
  { name: '204 between others', send: [get('/') + get('/empty') + get('/')], allow: [[200, 204, 200]], then: 'open' },
  {
    name: 'a failing one between others',
    send: [get('/') + get('/throw') + get('{mark}')],
    allow: [[200, 500], [200], []],
    then: 'closed',
  },
  {
    name: 'a body between others',
    send: [`${get('/')}${post('/', 'Content-Length: 3')}abc${get('/')}`],
    allow: [[200, 200, 200]],
    then: 'open',
  },
  {
    name: 'a bad one behind a good one',
    send: [`${get('/')}GET / HTTP/1.1\r\nHost: a b\r\n\r\n`],
    allow: [[200, 400]],
    then: 'closed',
  },
  {
    name: 'unparsable bytes behind a good one',
    send: [`${get('/')}\x01\x02\x03\r\n\r\n`],
    allow: [[200, 400], [200, 505], [200], [400], [505]],
    then: 'closed',
  },
  {
    name: 'a second one while the first is pending',
    send: [get('/never'), get('{mark}')],
    allow: [[]],
    then: 'closed',
    node: { allow: [[504]] },
  },
  {
    name: 'a second one behind an asynchronous one, in one segment',
    send: [get('/async') + get('{mark}')],
    allow: [[], [200]],
    then: 'closed',
    node: { allow: [[200, 200]], marks: [1] },
  },
  {
    name: 'a half one while the first is pending',
    send: [`${get('/async')}GET / HT`, 'TP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'],
    allow: [[200, 200], [200], []],
    then: 'closed',
  },
  {
    name: 'one behind an unread body, in one segment',
    send: [`${post('/', 'Content-Length: 5')}hello${get('/show')}`],
    allow: [[200, 200]],
    then: 'open',
  },
  {
    name: 'a tunnel behind an asynchronous one, in one segment',
    send: [`${get('/async')}CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n${get('{mark}')}`],
    allow: [[], [200], [505]],
    then: 'closed',
    node: { allow: [[200, 400]] },
  },
  {
    name: 'one behind Connection: close',
    send: [get('/', 'Connection: close') + get('/')],
    allow: [[200]],
    then: 'closed',
  },
]
