import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod/mini'
import { list, text, urlPath } from '../src/contract/schemas.ts'
import { parseBody, parseQuery } from '../src/index.ts'

const schema = z.strictObject({
  host: text('Host.'),
  paths: z.optional(list(urlPath('Path.'), 'Paths.', 3)),
  mode: z.optional(z.enum(['off', 'block'])),
  isOn: z.optional(z.boolean()),
})

function errorsOf(value: unknown, fields: Parameters<typeof parseBody>[1] = schema): string[] {
  const parsed = parseBody(value, fields)
  return parsed.isOk ? [] : parsed.errors.map(({ path, message }) => `${path}: ${message}`)
}

test('fields that are missing, unknown or of another type are all named', () => {
  assert.deepEqual(errorsOf({ host: 'a' }), [])
  assert.deepEqual(errorsOf([]), [': must be a JSON object'])
  assert.deepEqual(errorsOf(null), [': must be a JSON object'])
  assert.deepEqual(errorsOf({ host: 1, paths: ['/a', 2, 'b'], hots: 'x' }), [
    'host: must be a string',
    'paths[1]: must be a string',
    'paths[2]: must be a path that begins with "/"',
    'hots: is unknown; there are: host, paths, mode, isOn',
  ])
  assert.deepEqual(errorsOf({ paths: '/a' }), ['host: is missing', 'paths: must be an array'])
  assert.deepEqual(errorsOf({ host: '', paths: ['/', '/', '/', '/'], mode: 'on', isOn: 1 }), [
    'host: must not be empty',
    'paths: has more than 3 items',
    'mode: must be one of: off, block',
    'isOn: must be true or false',
  ])
  assert.deepEqual(errorsOf({ x: 1 }, z.strictObject({})), ['x: is unknown: none is expected'])
  const rule = z.strictObject({
    when: z.optional(z.strictObject({ path: z.string() })),
    list: z.array(z.strictObject({ a: z.string() })),
  })
  assert.deepEqual(errorsOf({ when: { path: 'x', foo: 1 }, list: [{ a: 'x', b: 1 }] }, rule), [
    'when.foo: is unknown; there are: path',
    'list[0].b: is unknown; there are: a',
  ])
})

test('an error repeats only the beginning of a name that the request made up', () => {
  const name = 'n'.repeat(100_000)
  assert.deepEqual(errorsOf({ host: 'a', [name]: 1 }), [`${name.slice(0, 100)}: is unknown; there are: host, paths, mode, isOn`])
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1]))
  assert.equal(errorsOf({ host: 'a', ...many }).length, 20)
  const twice = parseQuery(`${name}=1&${name}=2`, schema)
  assert.deepEqual(!twice.isOk && twice.errors, [{ path: name.slice(0, 100), message: 'is given twice' }])
})

test('names of built-in properties are unknown fields like any other', () => {
  assert.deepEqual(errorsOf(JSON.parse('{"host":"a","__proto__":1,"constructor":2}')), [
    '__proto__: is unknown; there are: host, paths, mode, isOn',
    'constructor: is unknown; there are: host, paths, mode, isOn',
  ])
})

test('at most 20 errors are listed', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x${index}`, 1]))
  assert.equal(errorsOf({ host: 'a', ...many }).length, 20)
})

test('a parameter of a query is given once', () => {
  const fields = z.strictObject({ tag: z.optional(text('Tag.')) })
  assert.deepEqual(parseQuery('tag=a%20b', fields), { isOk: true, values: { tag: 'a b' } })
  assert.deepEqual(parseQuery('tag=a&tag=b', fields), { isOk: false, errors: [{ path: 'tag', message: 'is given twice' }] })
  assert.equal(parseQuery('tga=a', fields).isOk, false)
})
