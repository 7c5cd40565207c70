import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ConditionOutcome,
  equalStrongly,
  equalWeakly,
  evaluateConditions,
  formatHttpDate,
  isEntityTag,
  isRangeCurrent,
  parseEntityTags,
  weaken,
} from '../src/index.ts'

const modified = Date.UTC(2025, 5, 1, 12, 0, 0)
const at = formatHttpDate(modified)
const before = formatHttpDate(modified - 1000)
const after = formatHttpDate(modified + 1000)
const validators = { etag: '"v1"', lastModifiedMs: modified + 789 }

type Fields = Readonly<Record<string, string>>
const cases: ReadonlyArray<readonly [why: string, method: string, fields: Fields, outcome: ConditionOutcome]> = [
  ['If-Match with another tag', 'GET', { 'if-match': '"v0"' }, 'precondition-failed'],
  ['If-Match compares strongly (section 13.1.1)', 'GET', { 'if-match': 'W/"v1"' }, 'precondition-failed'],
  ['an If-Match that names nothing', 'GET', { 'if-match': 'v1' }, 'precondition-failed'],
  ['If-Match with the tag among others', 'PUT', { 'if-match': '"a,b", "v1"' }, 'proceed'],
  ['If-Match *', 'PUT', { 'if-match': '*' }, 'proceed'],
  ['changed since If-Unmodified-Since', 'GET', { 'if-unmodified-since': before }, 'precondition-failed'],
  ['not changed since, in whole seconds', 'GET', { 'if-unmodified-since': at }, 'proceed'],
  [
    'If-Match takes the place of If-Unmodified-Since (section 13.2.2)',
    'GET',
    { 'if-match': '"v1"', 'if-unmodified-since': before },
    'proceed',
  ],
  ['an If-Unmodified-Since that is no date', 'GET', { 'if-unmodified-since': 'soon' }, 'proceed'],
  ['If-None-Match with the tag', 'GET', { 'if-none-match': '"v1"' }, 'not-modified'],
  ['If-None-Match compares weakly (section 13.1.2)', 'HEAD', { 'if-none-match': '"x", W/"v1"' }, 'not-modified'],
  ['If-None-Match *', 'GET', { 'if-none-match': '*' }, 'not-modified'],
  ['If-None-Match on a write', 'PUT', { 'if-none-match': '*' }, 'precondition-failed'],
  ['If-None-Match with another tag', 'GET', { 'if-none-match': '"v2"' }, 'proceed'],
  [
    'If-None-Match takes the place of If-Modified-Since',
    'GET',
    { 'if-none-match': '"v2"', 'if-modified-since': after },
    'proceed',
  ],
  ['not changed since If-Modified-Since', 'GET', { 'if-modified-since': at }, 'not-modified'],
  ['changed since If-Modified-Since', 'GET', { 'if-modified-since': before }, 'proceed'],
  ['If-Modified-Since on a write is no condition (section 13.1.3)', 'POST', { 'if-modified-since': after }, 'proceed'],
  ['an If-Modified-Since that is no date', 'GET', { 'if-modified-since': '0' }, 'proceed'],
  ['If-Match is looked at before If-None-Match', 'GET', { 'if-match': '"v2"', 'if-none-match': '"v1"' }, 'precondition-failed'],
  ['no condition', 'GET', {}, 'proceed'],
]
for (const [why, method, fields, outcome] of cases) {
  test(`${outcome}: ${why}`, () => {
    assert.equal(evaluateConditions({ method, header: (name) => fields[name] }, validators), outcome)
  })
}

test('without validators only * matches', () => {
  const nothing = { etag: undefined, lastModifiedMs: undefined }
  const outcome = (fields: Fields) => evaluateConditions({ method: 'GET', header: (name) => fields[name] }, nothing)
  assert.equal(outcome({ 'if-none-match': '"v1"' }), 'proceed')
  assert.equal(outcome({ 'if-none-match': '*' }), 'not-modified')
  assert.equal(outcome({ 'if-match': '"v1"' }), 'precondition-failed')
  assert.equal(outcome({ 'if-modified-since': after, 'if-unmodified-since': before }), 'proceed')
})

const ifRange: ReadonlyArray<readonly [value: string | undefined, isCurrent: boolean]> = [
  [undefined, true],
  ['"v1"', true],
  ['W/"v1"', false],
  ['"v2"', false],
  [at, true],
  [before, false],
  [after, false],
  ['v1', false],
  ['', false],
]
for (const [value, isCurrent] of ifRange) {
  test(`If-Range ${value} is ${isCurrent ? '' : 'not '}current (RFC 9110 section 13.1.5)`, () => {
    assert.equal(isRangeCurrent(value, validators, modified + 60_000), isCurrent)
  })
}

test('a date in the current second is too weak for If-Range (RFC 9110 section 8.8.2.2)', () => {
  assert.equal(isRangeCurrent(at, validators, modified + 999), false)
  assert.equal(isRangeCurrent(at, validators, modified + 1000), true)
})

test('compares and parses entity tags (RFC 9110 section 8.8.3)', () => {
  assert.deepEqual(['"a"', 'W/""', 'a', 'w/"a"', '"a"b"', '"a b"', '"\u20ac"'].map(isEntityTag), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
  assert.deepEqual(
    [equalStrongly('"a"', '"a"'), equalStrongly('W/"a"', 'W/"a"'), equalWeakly('W/"a"', '"a"'), equalWeakly('"a"', '"b"')],
    [true, false, true, false],
  )
  assert.deepEqual([weaken('"a"'), weaken('W/"a"')], ['W/"a"', 'W/"a"'])
  assert.deepEqual(parseEntityTags(' "a" ,, W/"b,c"\t, "d"'), ['"a"', 'W/"b,c"', '"d"'])
  assert.deepEqual(parseEntityTags('"a", b, "c"'), ['"a"'])
  assert.deepEqual(parseEntityTags('"a" "b"'), [])
})

test('parses a hostile list of tags in linear time', () => {
  assert.deepEqual(parseEntityTags(' ,'.repeat(50_000)), [])
  assert.equal(parseEntityTags('"a",'.repeat(10_000)).length, 10_000)
})
