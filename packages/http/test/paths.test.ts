import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePath, escapeArgs, escapeUri, extensionOf, unescapeRedirect, withoutControls } from '../src/index.ts'

const decoded: ReadonlyArray<readonly [sent: string, path: string | undefined]> = [
  ['/', '/'],
  ['/a/b', '/a/b'],
  ['/a%20b', '/a b'],
  ['/%C3%A4', '/\xc3\xa4'],
  ['/a%2fb', '/a/b'],
  ['/a%2F%2Fb', '/a/b'],
  ['//a///b/', '/a/b/'],
  ['/a/./b', '/a/b'],
  ['/a/.', '/a/'],
  ['/a/..', '/'],
  ['/a/b/../c', '/a/c'],
  ['/a/%2e%2E/c', '/c'],
  ['/a//../b', '/b'],
  ['/a/...', '/a/...'],
  ['/a/.b/..c', '/a/.b/..c'],
  ['/%3Fa%23b%25c', '/?a#b%c'],
  ['/a+b%2Bc', '/a+b+c'],
  ['/..', undefined],
  ['/a/../../b', undefined],
  ['/%2e%2e/b', undefined],
  ['/a%', undefined],
  ['/a%2', undefined],
  ['/a%zz', undefined],
  ['/a%00b', undefined],
]

test('paths are decoded to bytes, without ever leaving the root', () => {
  for (const [sent, path] of decoded) assert.equal(decodePath(sent)?.path, path, sent)
})

test('escapes and a plus sign are remembered, since parts of the path are escaped again', () => {
  assert.equal(decodePath('/a/b')?.isQuoted, false)
  assert.equal(decodePath('/a%20b')?.isQuoted, true)
  assert.equal(decodePath('/a+b')?.isQuoted, true)
  assert.equal(decodePath('/a//b')?.isQuoted, false)
})

test('every decoded byte is escaped again for a path and for arguments', () => {
  const all = Array.from({ length: 256 }, (_value, code) => String.fromCharCode(code)).join('')
  for (const escapeAll of [escapeUri, escapeArgs]) {
    const escaped = escapeAll(all)
    assert.match(escaped, /^[\x21-\x7e]*$/)
    assert.equal(Buffer.from(unescaped(escaped), 'latin1').toString('latin1'), all)
  }
  assert.equal(escapeUri('/a b?c#d%e"<>\\^`{|}&+;=:@!$\'()*,~'), "/a%20b%3Fc%23d%25e%22%3C%3E%5C%5E%60%7B%7C%7D&+;=:@!$'()*,~")
  assert.equal(escapeArgs('a&b+c;d=e'), 'a%26b%2Bc%3Bd=e')
})

function unescaped(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_escape, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
}

test('redirects are readable up to their arguments', () => {
  assert.equal(unescapeRedirect('/a%26b%2Bc'), '/a&b+c')
  assert.equal(unescapeRedirect('/a%20b%25c%C3%A4%0d%22'), '/a%20b%25c%C3%A4%0d%22')
  assert.equal(unescapeRedirect('/a?b=%26'), '/a?b=%26')
  assert.equal(unescapeRedirect('/a%3Fb%26'), '/a?b%26')
  assert.equal(unescapeRedirect('/a%zz%4'), '/a%zz%4')
})

test('controls are escaped and nothing else is', () => {
  assert.equal(withoutControls('a b\r\nc\0\x7f\xe4%'), 'a b%0D%0Ac%00%7F\xe4%')
})

test('the extension is that of the last segment', () => {
  const found = ['/a.txt', '/a.tar.gz', '/a', '/a.b/c', '/.html', '/a/.b.c', '/a.'].map(extensionOf)
  assert.deepEqual(found, ['txt', 'gz', '', '', '', 'c', ''])
})
