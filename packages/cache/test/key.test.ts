import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataKey, responseKey, storablePath } from '../src/index.ts'

const narrow = { query: false, host: false }

test('a key holds what the response depends on and nothing else', () => {
  const key = responseKey('a', '/x', narrow, 'q=1', 'a.example')
  assert.equal(responseKey('a', '/x', narrow, 'q=2', 'b.example'), key)
  const others = [
    responseKey('b', '/x', narrow, '', ''),
    responseKey('a', '/y', narrow, '', ''),
    responseKey('a', '/x', { query: true, host: false }, '', ''),
    responseKey('a', '/x', { query: true, host: false }, 'a.example', ''),
    responseKey('a', '/x', { query: false, host: true }, '', 'a.example'),
    responseKey('a', '/x', { query: true, host: true }, 'q', 'a.example'),
  ]
  assert.equal(new Set([key, ...others]).size, 7)
})

test('a long key is bounded, begins with its label, and still tells queries apart', () => {
  const variance = { query: true, host: false }
  const one = responseKey('a', '/x', variance, 'q'.repeat(5000), '')
  const other = responseKey('a', '/x', variance, `${'q'.repeat(4999)}r`, '')
  assert.ok(one.length <= 1024 && one.startsWith('a\0'))
  assert.notEqual(one, other)
})

test('keys of data differ by label and by where a part ends', () => {
  const keys = [
    dataKey('a', 'xy', ''),
    dataKey('a', 'x', 'y'),
    dataKey('b', 'x', 'y'),
    dataKey('a', 'x'),
    dataKey('a', 'x', 'y', ''),
  ]
  assert.equal(new Set(keys).size, keys.length)
  assert.equal(dataKey('a', 'x', 'y'), keys[1])
})

test('a path that backends read differently has no key', () => {
  for (const path of ['/a%2Fb', '/a%2fb', '/%5C', '/%00', '/a\\b']) assert.equal(storablePath(path), undefined, path)
  assert.equal(storablePath('/a%20b'), '/a%20b')
})
