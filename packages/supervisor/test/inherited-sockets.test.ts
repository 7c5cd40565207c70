import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workerSocketFd } from '@svc/processes'
import { type InheritedSocket, InheritedSockets, readInherited } from '../src/listen/inherited-sockets.ts'

const plain = (name: string) => ({ name, isTls: false })
const sockets = (...addresses: [host: string, port: number][]) =>
  new InheritedSockets(addresses.map(([host, port], index): InheritedSocket => ({ host, port, fd: 3 + index })))

test('a socket without a listen address stops the start and says which one to write', () => {
  const two = sockets(['127.0.0.1', 80], ['::', 443])
  assert.throws(() => two.requireAddresses([plain('127.0.0.1:80')]), {
    code: 'SUP_SOCKETS',
    message: /a socket for \[::\]:443, and the listen addresses are 127\.0\.0\.1:80$/,
  })
  two.requireAddresses([plain('127.0.0.1:80'), plain('[::]:443')])
  assert.throws(() => sockets(['0.0.0.0', 80]).requireAddresses([plain('[::]:80')]), { code: 'SUP_SOCKETS' })
})

test('an address gets the socket of its host and port in any spelling, and keeps its name', () => {
  const all = [plain('0.0.0.0:80'), plain('LOCALHOST:81'), { name: '[0:0:0:0:0:0:0:1]:443', isTls: true }, plain('127.0.0.1:0')]
  const taken = sockets(['::1', 443], ['127.0.0.1', 81], ['::', 80]).take(all, all)
  assert.deepEqual(
    taken.map(({ name, fd, isTls }) => [name, fd, isTls]),
    [
      ['0.0.0.0:80', workerSocketFd(2), false],
      ['LOCALHOST:81', workerSocketFd(1), false],
      ['[0:0:0:0:0:0:0:1]:443', workerSocketFd(0), true],
    ],
  )
})

test('a socket on [::] is not that of 0.0.0.0 where both are listen addresses', () => {
  const both = [plain('0.0.0.0:80'), plain('[::]:80')]
  const wide = sockets(['::', 80])
  assert.deepEqual(
    wide.take(both, both).map(({ name }) => name),
    ['[::]:80'],
  )
  assert.deepEqual(wide.without([...both, plain('127.0.0.1:0'), plain('unix:/run/a.sock')]), [plain('0.0.0.0:80')])
  assert.deepEqual(sockets().without(both), [])
})

test('an address that left cannot come back before a restart, since workers have closed its socket', () => {
  const two = sockets(['127.0.0.1', 80], ['127.0.0.1', 81])
  const names = [plain('127.0.0.1:80'), plain('127.0.0.1:81')]
  const all = two.take(names, names)
  assert.deepEqual(two.served(all, all), [])
  assert.deepEqual(two.served(all, all.slice(0, 1)), all.slice(1))
  assert.deepEqual(two.take([], names), [])
  assert.throws(() => two.take(names.slice(1), names), { code: 'SUP_SOCKETS', message: /127\.0\.0\.1:81 .* restart/ })
})

test('variables for another process, or of none, pass nothing, and a count out of bounds is an error', () => {
  assert.deepEqual(readInherited({}, 7), [])
  assert.deepEqual(readInherited({ LISTEN_PID: '8', LISTEN_FDS: '1' }, 7), [])
  assert.deepEqual(readInherited({ LISTEN_PID: '7', LISTEN_FDS: '0' }, 7), [])
  for (const LISTEN_FDS of ['-1', 'x', '65', undefined]) {
    assert.throws(() => readInherited({ LISTEN_PID: '7', LISTEN_FDS }, 7), { code: 'SUP_SOCKETS' })
  }
})
