import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HostEntry, HostMatcher } from '../src/index.ts'

const entry = (value: string, ...hostnames: string[]): HostEntry<string> => ({ hostnames, isDefault: false, value })

const matcher = new HostMatcher([
  entry('first', 'example.com'),
  entry('wild', '*.example.com'),
  entry('deep', '*.a.example.com'),
  entry('exact', 'www.example.com'),
  entry('prefix', 'www.*'),
  entry('longprefix', 'www.shop.*'),
  entry('both', '.both.test'),
  { hostnames: [], isDefault: true, value: 'default' },
])

const table: ReadonlyArray<readonly [hostname: string, value: string, kind: string]> = [
  ['example.com', 'first', 'exact'],
  ['www.example.com', 'exact', 'exact'],
  ['x.example.com', 'wild', 'suffix'],
  ['x.y.example.com', 'wild', 'suffix'],
  ['x.a.example.com', 'deep', 'suffix'],
  ['a.example.com', 'wild', 'suffix'],
  ['notexample.com', 'default', 'default'],
  ['www.test', 'prefix', 'prefix'],
  ['www.shop.test', 'longprefix', 'prefix'],
  ['www.shop.test.x', 'longprefix', 'prefix'],
  ['www.', 'default', 'default'],
  ['wwwx.test', 'default', 'default'],
  ['both.test', 'both', 'exact'],
  ['a.both.test', 'both', 'suffix'],
  ['.example.com', 'default', 'default'],
  ['', 'default', 'default'],
  ['192.0.2.1', 'default', 'default'],
]
for (const [hostname, value, kind] of table) {
  test(`leads ${JSON.stringify(hostname)} to ${value} by ${kind}`, () =>
    assert.deepEqual(matcher.match(hostname), { value, kind }))
}

test('prefers a suffix to a prefix', () => {
  const both = new HostMatcher([entry('prefix', 'www.*'), entry('suffix', '*.test')])
  assert.equal(both.match('www.test')?.value, 'suffix')
})

test('leads what nothing matches to the first entry when none is the default', () => {
  assert.deepEqual(new HostMatcher([entry('a', 'a.test'), entry('b', 'b.test')]).match('c.test'), { value: 'a', kind: 'default' })
  assert.equal(new HostMatcher([]).match('a.test'), undefined)
})

test('gives a name claimed twice to the first that claims it', () => {
  assert.equal(new HostMatcher([entry('a', 'x.test', '*.y'), entry('b', 'x.test', '*.y')]).match('x.test')?.value, 'a')
  assert.equal(new HostMatcher([entry('a', '*.y'), entry('b', '*.y')]).match('x.y')?.value, 'a')
})

test('finds one of a thousand sites and answers with the same object each time', () => {
  const many = new HostMatcher(Array.from({ length: 1000 }, (_, i) => entry(`site-${i}`, `site-${i}.test`, `*.site-${i}.test`)))
  assert.equal(many.match('www.site-777.test')?.value, 'site-777')
  assert.equal(many.match('site-999.test'), many.match('site-999.test'))
})
