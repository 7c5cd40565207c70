import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCacheSafePath, normalizePath, parseTarget } from '../src/index.ts'

const refused: ReadonlyArray<readonly [target: string, code: string]> = [
  ['', 'target_not_origin_form'],
  ['*', 'target_not_origin_form'],
  ['http://a/', 'target_not_origin_form'],
  ['a/b', 'target_not_origin_form'],
  ['?a', 'target_not_origin_form'],
  ['/a b', 'target_bad_character'],
  ['/a\tb', 'target_bad_character'],
  ['/a\nb', 'target_bad_character'],
  ['/a\0', 'target_bad_character'],
  ['/\x7f', 'target_bad_character'],
  ['/\u00e9', 'target_bad_character'],
  ['/\ufffd', 'target_bad_character'],
  ['/a\\..\\b', 'target_bad_character'],
  ['/a#b', 'target_bad_character'],
  ['/a?b#c', 'target_bad_character'],
  ['/a?b c', 'target_bad_character'],
  ['/a?\u00e9', 'target_bad_character'],
  ['/a?\r', 'target_bad_character'],
  ['/%2e\\', 'target_bad_character'],
  ['/%', 'target_bad_escape'],
  ['/%2', 'target_bad_escape'],
  ['/%zz', 'target_bad_escape'],
  ['/%2g/..', 'target_bad_escape'],
  ['/a%?20', 'target_bad_escape'],
]

for (const [target, code] of refused) {
  test(`refuses the target ${JSON.stringify(target)} as ${code}`, () => assert.equal(parseTarget(target), code))
}

const normal: ReadonlyArray<readonly [path: string, normalized: string, why: string]> = [
  ['/', '/', 'the root'],
  ['/a/b.html', '/a/b.html', 'a plain path'],
  ['/A/b', '/A/b', 'case is kept'],
  ['/%41%7e%2D%5f', '/A~-_', 'unreserved escapes are decoded (RFC 3986 section 6.2.2.2)'],
  ['/%c3%a9%2f', '/%C3%A9%2F', 'digits are upper-cased (section 6.2.2.1)'],
  ['/%252e%252e/', '/%252e%252e/', 'an escaped percent sign is decoded once, not twice'],
  ['/a/./b', '/a/b', 'dot segment (section 5.2.4)'],
  ['/a/../b', '/b', 'dot-dot segment'],
  ['/a/%2e%2E/b', '/b', 'escaped dot-dot segment'],
  ['/a/.%2e/b', '/b', 'half escaped dot-dot segment'],
  ['/a/b/..', '/a/', 'dot-dot at the end names a directory'],
  ['/a/.', '/a/', 'dot at the end names a directory'],
  ['/..', '/', 'the root is not left'],
  ['/../../etc/passwd', '/etc/passwd', 'the root is not left, whatever the number'],
  ['/a/../../../b', '/b', 'nor from below'],
  ['//', '/', 'only slashes'],
  ['//a///b//', '/a/b/', 'slashes are merged'],
  ['/a//../b', '/b', 'slashes are merged before dot segments are removed'],
  ['/...', '/...', 'three dots are a name'],
  ['/..a/b..', '/..a/b..', 'dots in a name'],
  ['/.well-known/x', '/.well-known/x', 'a name that begins with a dot'],
  ['/a%2F..%2fb', '/a%2F..%2Fb', 'an escaped slash ends no segment'],
  ['/%5c..%5C', '/%5C..%5C', 'nor does an escaped backslash'],
  ['/%00', '/%00', 'an escaped NUL stays escaped'],
  ['/a|b^{c}"<>', '/a|b^{c}"<>', 'visible ASCII that browsers send is kept'],
]

for (const [path, normalized, why] of normal) {
  test(`normalises ${path}: ${why}`, () => {
    assert.equal(normalizePath(path), normalized)
    assert.equal(normalizePath(normalized), normalized, 'a second time changes nothing')
  })
}

test('splits path and query at the first question mark', () => {
  assert.deepEqual(parseTarget('/a%2e/%62?c=%zz&d=?/..//%2e|\\'), {
    rawPath: '/a%2e/%62',
    query: 'c=%zz&d=?/..//%2e|\\',
    path: '/a./b',
  })
  assert.deepEqual(parseTarget('/?'), { rawPath: '/', query: '', path: '/' })
  assert.deepEqual(parseTarget('/x'), { rawPath: '/x', query: '', path: '/x' })
})

test('calls paths with an escaped slash, backslash or NUL unsafe to cache', () => {
  for (const path of ['/a%2Fb', '/%5C', '/a/%00', '/a%2f', '/%20%2F', '/a\\b']) assert.equal(isCacheSafePath(path), false, path)
  for (const path of ['/', '/a/b', '/%252F', '/%20', '/%C3%A9']) assert.equal(isCacheSafePath(path), true, path)
})
