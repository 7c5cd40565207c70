import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@svc/core'
import { UpstreamGroups } from '../src/balance/upstream-groups.ts'
import { HttpConnections } from '../src/http/http-connections.ts'
import { ask, groupOf, originFor, type RawConnection, server, startRaw } from './raw-upstream.ts'

const FIRST = 'HTTP/1.1 200 OK\r\nX-A: one\r\nContent-Length: 5\r\n\r\n'
const OTHER_VALUE = 'HTTP/1.1 200 OK\r\nX-A: two\r\nContent-Length: 5\r\n\r\n'
const OTHER_STATUS = 'HTTP/1.1 201 OK\r\nX-A: one\r\nContent-Length: 5\r\n\r\n'
const ONE_MORE_FIELD = 'HTTP/1.1 200 OK\r\nX-A: one\r\nContent-Length: 5\r\nX-B: more\r\n\r\n'
const SHORTER_BODY = 'HTTP/1.1 200 OK\r\nX-A: one\r\nContent-Length: 4\r\n\r\n'
const CHUNKED = 'HTTP/1.1 200 OK\r\nX-A: one\r\nTransfer-Encoding: chunked\r\n\r\n'

interface Said {
  /** Pieces that arrive at once. */
  readonly pieces: readonly string[]
  readonly status?: number
  readonly a?: string
  readonly more?: readonly string[]
  readonly body: string
}

const SAID: readonly Said[] = [
  { pieces: [`${FIRST}hello`], body: 'hello' },
  { pieces: [`${FIRST}again`], body: 'again' },
  { pieces: [FIRST, 'alone'], body: 'alone' },
  { pieces: [FIRST.slice(0, 30), `${FIRST.slice(30)}split`], body: 'split' },
  { pieces: [`${FIRST.slice(0, -1)}`, `\nlast!`], body: 'last!' },
  { pieces: [`${OTHER_VALUE}other`], a: 'two', body: 'other' },
  { pieces: [`${FIRST}hello`], body: 'hello' },
  { pieces: [`${OTHER_STATUS}other`], status: 201, body: 'other' },
  { pieces: [`${FIRST}hello`], body: 'hello' },
  { pieces: [`${ONE_MORE_FIELD}other`], more: ['x-b'], body: 'other' },
  { pieces: [`${FIRST}hello`], body: 'hello' },
  { pieces: [`${SHORTER_BODY}four`], body: 'four' },
  { pieces: [`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${FIRST}hinte`], body: 'hinte' },
  { pieces: [`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`], body: 'abc' },
  { pieces: [`${CHUNKED}2\r\nde\r\n`, '0\r\n\r\n'], body: 'de' },
  { pieces: [`${FIRST}hello`], body: 'hello' },
]

/** Pieces may still come together: both are right. */
function sendPieces(connection: RawConnection, [first, ...others]: readonly string[]): void {
  if (first === undefined) return
  connection.send(first)
  setImmediate(() => sendPieces(connection, others))
}

test('responses on one connection are told apart, even with equal or similar heads', async (t) => {
  const up = await startRaw(t, (connection, _request, index) => sendPieces(connection, SAID[index]?.pieces ?? []))
  const origin = originFor(t, groupOf([server(up.address)]))
  for (const [index, { status = 200, a = 'one', more = [], body }] of SAID.entries()) {
    const answer = await ask(origin)
    assert.equal(answer.error, undefined, `answer ${index}: ${answer.error?.message}`)
    assert.equal(answer.status, status, `answer ${index}`)
    assert.deepEqual(answer.headers, [['x-a', a], ...more.map((name) => [name, 'more'])], `answer ${index}`)
    assert.equal(answer.body, body, `answer ${index}`)
  }
  assert.equal(up.connections.length, 1)
})

test('HEAD has no body also behind a GET with the same head', async (t) => {
  const up = await startRaw(t, (connection, request) => connection.send(request.startsWith('HEAD') ? FIRST : `${FIRST}hello`))
  const origin = originFor(t, groupOf([server(up.address)]))
  for (const method of ['GET', 'HEAD', 'GET', 'HEAD', 'HEAD', 'GET']) {
    const answer = await ask(origin, { method })
    assert.deepEqual([answer.error, answer.length, answer.body], [undefined, 5, method === 'HEAD' ? '' : 'hello'])
  }
  assert.equal(up.connections.length, 1)
})

test('a head that is the same up to a broken field is refused', async (t) => {
  const broken = `${FIRST.slice(0, -2)}X B: c\r\n\r\nhello`
  const up = await startRaw(t, (connection, _request, index) => connection.send(index < 2 ? `${FIRST}hello` : broken))
  const origin = originFor(t, groupOf([server(up.address)]))
  assert.equal((await ask(origin)).body, 'hello')
  assert.equal((await ask(origin)).body, 'hello')
  assert.equal((await ask(origin)).error?.code, 'UPSTREAM_BAD_ANSWER')
})

test('requests are serialised again when any part of them differs', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(`${FIRST}hello`))
  const origin = originFor(t, groupOf([server(up.address)]))
  const headers = Object.freeze([['host', 'a.test']] as const)
  const others = Object.freeze([['host', 'b.test']] as const)
  const lines = [
    { method: 'GET', target: '/', headers },
    { method: 'GET', target: '/', headers },
    { method: 'GET', target: '/a', headers },
    { method: 'POST', target: '/a', headers },
    { method: 'DELETE', target: '/a', headers },
    { method: 'DELETE', target: '/a', headers: others },
    { method: 'GET', target: '/', headers },
  ]
  for (const more of lines) assert.equal((await ask(origin, more)).body, 'hello')
  for (const bad of [{ target: '/ a' }, { method: 'G T' }]) {
    assert.equal((await ask(origin, { headers, ...bad })).error?.code, 'UPSTREAM_UNREACHABLE')
  }
  const wanted = lines.map(({ method, target, headers: [[, host]] }) => {
    return `${method} ${target} HTTP/1.1\r\n${method === 'POST' ? 'content-length: 0\r\n' : ''}host: ${host}\r\n\r\n`
  })
  assert.equal(up.connections[0]?.received, wanted.join(''))
})

test('connections are kept again after those of the group were dropped', async (t) => {
  const up = await startRaw(t, (connection) => connection.send(`${FIRST}hello`))
  const connections = new HttpConnections(systemClock)
  t.after(() => connections.close())
  const spec = groupOf([server(up.address)])
  const group = new UpstreamGroups([spec], { clock: systemClock, onForgotten: () => undefined, onGone: () => undefined }).named(
    spec.name,
  )
  const origin = originFor(t, spec, { connections, group })
  assert.equal((await ask(origin)).body, 'hello')
  assert.equal((await ask(origin)).body, 'hello')
  connections.drop([group])
  await up.connections[0]?.closed()
  assert.equal((await ask(origin)).body, 'hello')
  assert.equal((await ask(origin)).body, 'hello')
  assert.equal(up.connections.length, 2)
})

test('the same head from two connections of a server is one list of fields', async (t) => {
  const waiting: RawConnection[] = []
  const up = await startRaw(t, (connection, _request, index) => {
    if (index > 0) connection.send(`${FIRST}later`)
    else if (waiting.push(connection) === 2) for (const one of waiting) one.send(`${FIRST}hello`)
  })
  const origin = originFor(t, groupOf([server(up.address)]))
  const both = await Promise.all([ask(origin), ask(origin)])
  const later = await Promise.all([ask(origin), ask(origin)])
  assert.deepEqual(
    [...both, ...later].map(({ body }) => body),
    ['hello', 'hello', 'later', 'later'],
  )
  assert.equal(up.connections.length, 2)
  for (const { headers } of [...both, ...later]) assert.equal(headers, both[0]?.headers)
  assert.deepEqual(both[0]?.headers, [['x-a', 'one']])
})
