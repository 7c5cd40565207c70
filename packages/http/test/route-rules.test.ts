import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePathPattern, compileTarget, decodePath, RuleTable, segmentsOf } from '../src/index.ts'

/** Matches of a pattern in a raw path: names, wildcards, rest. */
function find(pattern: string, rawPath: string): unknown {
  const path = decodePath(rawPath)?.path
  assert.ok(path !== undefined, `${rawPath} can be read`)
  const found = compilePathPattern(pattern).match(segmentsOf(path))
  return found === undefined ? undefined : [Object.fromEntries(found.names), found.wildcards, found.rest]
}

const MATCHES: readonly (readonly [pattern: string, path: string, found: unknown])[] = [
  ['/', '/', [{}, [], undefined]],
  ['/', '/a', undefined],
  ['/a', '/a', [{}, [], undefined]],
  ['/a', '/a/', undefined],
  ['/a/', '/a/', [{}, [], undefined]],
  ['/a', '/A', undefined],
  ['/a/b', '/a', undefined],
  ['/old/:page', '/old/x', [{ page: 'x' }, [], undefined]],
  ['/old/:page', '/old/', undefined],
  ['/old/:page', '/old', undefined],
  ['/old/:page', '/old/x/y', undefined],
  ['/:a/:b', '/x/y%20z', [{ a: 'x', b: 'y z' }, [], undefined]],
  ['/img/*', '/img/a.png', [{}, ['a.png'], undefined]],
  ['/img/*', '/img/', undefined],
  ['/img-*', '/img-', [{}, [''], undefined]],
  ['/img-*/x', '/img-1/x', [{}, ['1'], undefined]],
  ['/*.php', '/a.php', [{}, ['a'], undefined]],
  ['/*.php', '/a/b.php', undefined],
  ['/aba*aba', '/aba', undefined],
  ['/api/**', '/api/x/y', [{}, [], 'x/y']],
  ['/api/**', '/api/', [{}, [], '']],
  ['/api/**', '/api', [{}, [], '']],
  ['/api/**', '/apis', undefined],
  ['/:site/**', '/a/b/c', [{ site: 'a' }, [], 'b/c']],
  ['/**', '/', [{}, [], '']],
  ['/**', '/a/b', [{}, [], 'a/b']],
  ['/café', '/caf%C3%A9', [{}, [], undefined]],
  ['/a%20b', '/a%20b', [{}, [], undefined]],
  ['/:x', '/caf%C3%A9', [{ x: 'caf\xc3\xa9' }, [], undefined]],
  ['/a:b', '/a:b', [{}, [], undefined]],
]

for (const [pattern, path, found] of MATCHES) {
  test(`${pattern} ${found === undefined ? 'does not match' : 'matches'} ${path}`, () => {
    assert.deepEqual(find(pattern, path), found)
  })
}

test('no other spelling of a path passes by a pattern', () => {
  for (const path of [
    '/admin/x',
    '//admin//x',
    '/admin%2Fx',
    '/%61dmin/x',
    '/a/../admin/./x',
    '/a%2F..%2fadmin/x',
    '/.%2fadmin/%2e/x',
  ]) {
    assert.notEqual(find('/admin/**', path), undefined, path)
  }
})

/** The target that a path leads to. */
function target(pattern: string, text: string, rawPath: string, query = ''): string | undefined {
  const compiled = compilePathPattern(pattern)
  const captures = compiled.match(segmentsOf(decodePath(rawPath)?.path ?? ''))
  return captures && compileTarget(text, compiled)(captures, query)
}

const TARGETS: readonly (readonly [pattern: string, text: string, path: string, query: string, expected: string])[] = [
  ['/old/:page', '/new/:page', '/old/x', '', '/new/x'],
  ['/old/:page', '/new/:page.html', '/old/x', 'a=b&c', '/new/x.html?a=b&c'],
  ['/old/:page', '/new?page=:page', '/old/a%26b=c+%23', 'q=1', '/new?page=a%26b%3Dc%2B%23&q=1'],
  ['/old/:page', '/new/:page#top', '/old/x', 'q', '/new/x?q#top'],
  ['/old/:page', '/new/:other', '/old/x', '', '/new/:other'],
  ['/wiki/:page', '/w/Special:Search/:page', '/wiki/x', '', '/w/Special:Search/x'],
  ['/old/:page', 'https://other.test:8443/:page', '/old/a%2520b', '', 'https://other.test:8443/a%2520b'],
  ['/old/:page', '/:page', '/old/%5Cevil.test', '', '/%5Cevil.test'],
  ['/old/:page', '/new/:page', '/old/a%0d%0ab', '', '/new/a%0D%0Ab'],
  ['/old/:page', '/new/:page', '/old/%3Fa%23b', '', '/new/%3Fa%23b'],
  ['/old/:page', '/new/:page', '/old/caf%C3%A9', '', '/new/caf%C3%A9'],
  ['/x*/:host', '/*/:host', '/x/evil.test', '', '/evil.test'],
  ['/go/**', '/**', '/go/%2Fevil.test', '', '/evil.test'],
  ['/go/**', '/**', '/go//evil.test/a', '', '/evil.test/a'],
  ['/docs/**', 'https://docs.test/**', '/docs/a/b%20c', '', 'https://docs.test/a/b%20c'],
  ['/docs/**', 'https://docs.test/**', '/docs', '', 'https://docs.test/'],
  ['/a-*/b-*', '/*/*/*', '/a-1/b-2', '', '/1/2/*'],
  ['/a', '/café x', '/a', '', '/caf%C3%A9%20x'],
  ['/a', '/50%25', '/a', '', '/50%25'],
]

for (const [pattern, text, path, query, expected] of TARGETS) {
  test(`${pattern} to ${text}: ${path} leads to ${expected}`, () => {
    assert.equal(target(pattern, text, path, query), expected)
  })
}

const names = (table: RuleTable<{ pattern: string; id: string }>, path: string, hostname = 'a.test', method = 'GET') =>
  [...table.matches({ path, hostname, method })].map(({ rule, isForMethod }) => `${rule.id}${isForMethod ? '' : '-'}`).join('')

test('rules are found in order, for any first segment', () => {
  const table = new RuleTable([
    { id: 'a', pattern: '/x/:p' },
    { id: 'b', pattern: '/:q/y' },
    { id: 'c', pattern: '/x/y' },
    { id: 'd', pattern: '/**' },
    { id: 'e', pattern: '/x/**' },
  ])
  assert.equal(names(table, '/x/y'), 'abcde')
  assert.equal(names(table, '/z/y'), 'bd')
  assert.equal(names(table, '/x/z'), 'ade')
  assert.equal(names(table, '/'), 'd')
  assert.equal(names(table, '*'), '')
})

test('host and methods narrow a rule', () => {
  const table = new RuleTable([
    { id: 'a', pattern: '/**', host: 'a.test' },
    { id: 'b', pattern: '/**', host: '*.b.test' },
    { id: 'c', pattern: '/**', methods: ['POST', 'PUT'] },
    { id: 'd', pattern: '/**', methods: ['GET'] },
  ])
  assert.equal(names(table, '/'), 'ac-d')
  assert.equal(names(table, '/', 'x.b.test', 'POST'), 'bcd-')
  assert.equal(names(table, '/', 'b.test', 'HEAD'), 'c-d-')
  assert.deepEqual(
    [...table.matches({ path: '/', hostname: 'z.test', method: 'HEAD' })].map((match) => match.tellsHeadFromGet),
    [false, true],
  )
})

test('among many rules few are looked at', () => {
  const rules = Array.from({ length: 5000 }, (_, index) => ({ id: `${index}`, pattern: `/section-${index}/:page` }))
  const table = new RuleTable([...rules, { id: 'last', pattern: '/**' }])
  assert.equal(names(table, '/section-4999/x'), '4999last')
  assert.equal(names(table, '/none/x'), 'last')
})
