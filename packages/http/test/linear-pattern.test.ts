import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pacer } from '@svc/core'
import { RE2JS } from 're2js'
import { hostilePatternLimits, LinearPattern } from '../src/index.ts'

const patterns = [
  '/etc/passwd',
  '(?i)union\\s+select',
  '(?i)\\b(select|insert|drop)\\b',
  '(.*a){10}z',
  '\\p{L}+\\p{N}+!',
  '\\bfoo\\b',
  '^/login$',
  '(?m)^x$',
  '(?i)[kſß]é',
  '(?i)kiss',
  'a{8}$',
  '\\B\\d\\B',
  '[^a-z]\\z',
  '(((((a*)*)*)*)*)*b',
  'x*',
  '(?s)a.b',
  'a.b',
  'a[ab]{6}$',
  '(a|aa)+$',
  '^$',
]
const alphabets = ['abxyz01/login\n =;', 'aKkſKßẞÉéäÄ😀\n_ab1!', 'ab', 'fooselctdrp /']

/** A generator of numbers below a bound that repeats itself in each run. */
function numbers(): (bound: number) => number {
  let seed = 7
  return (bound) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * bound)
  }
}

test('patterns match the texts that RE2 matches', () => {
  const next = numbers()
  for (const source of patterns) {
    const pattern = LinearPattern.compile(source, hostilePatternLimits)
    const expected = RE2JS.compile(source)
    for (let run = 0; run < 400; run++) {
      const chars = [...(alphabets[run % alphabets.length] ?? '')]
      const text = Array.from({ length: next(14) }, () => chars[next(chars.length)]).join('')
      assert.equal(pattern.test(text), expected.test(text), `${source} and ${JSON.stringify(text)}`)
    }
  }
})

test('what RE2 does not know is an error', () => {
  for (const [source, error] of [
    ['(?=a)b', /unsupported Perl syntax/],
    ['(a)\\1', /invalid escape sequence/],
    ['(a', /missing closing \)/],
    ['x{1001}', /invalid repeat count/],
  ] as const) {
    assert.throws(() => LinearPattern.compile(source, hostilePatternLimits), error, source)
  }
})

test('patterns that would need a table beyond the bounds are refused, not built', () => {
  for (const source of [
    '(a|b)*a(a|b){20}c',
    '(?i)[a-z]{1,200}x[0-9]{1,200}y',
    '((a{0,10}){0,10}){0,9}$b',
    '(\\pL{30}){30}',
    `(?i)${'[a-zA-Z\\pL]{900}'}`,
    `${'('.repeat(400)}a${')'.repeat(400)}{0}${'b'.repeat(300)}`,
  ]) {
    assert.throws(() => LinearPattern.compile(source, hostilePatternLimits), { code: 'CONFIG_PATTERN' }, source.slice(0, 40))
  }
})

test('compiling in slices rests between states, and ends with the same pattern or error', async () => {
  const always = new Pacer(0)
  let turns = 0
  let immediate = setImmediate(function next() {
    turns++
    immediate = setImmediate(next)
  })
  const sliced = await LinearPattern.compileInSlices('a[ab]{6}$', hostilePatternLimits, always)
  clearImmediate(immediate)
  const whole = LinearPattern.compile('a[ab]{6}$', hostilePatternLimits)
  assert.ok(turns > 100, `${turns} turns`)
  assert.equal(sliced.cells, whole.cells)
  for (const text of ['abababa', 'babababab', 'ab', 'aaaaaaab']) assert.equal(sliced.test(text), whole.test(text), text)
  await assert.rejects(LinearPattern.compileInSlices('(a|b)*a(a|b){20}c', hostilePatternLimits, always), {
    code: 'CONFIG_PATTERN',
  })
})
