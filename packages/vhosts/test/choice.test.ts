import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Captures,
  compileTemplate,
  expiresFields,
  type LocationMatch,
  LocationTable,
  ServerTable,
  splitAtQuestion,
  ValueMap,
} from '../src/index.ts'

class Sink {
  captures: Captures = []
  readonly variables = new Map<string, string>()

  setVariable(name: string, value: string): void {
    this.variables.set(name, value)
  }
}

const pattern = (source: string, names: string[] = []) => ({ source, flags: '', names })

function locations(rules: readonly (LocationMatch & { readonly addsSlash?: boolean })[]): LocationTable<number> {
  return new LocationTable(
    rules.map((rule, value) => ({ match: rule, addsSlash: rule.addsSlash === true, value, nested: undefined })),
  )
}

test('an exact location goes before all others, and the longest prefix before shorter ones', () => {
  const table = locations([
    { kind: 'prefix', path: '/', isFirst: false },
    { kind: 'prefix', path: '/a/', isFirst: false },
    { kind: 'prefix', path: '/a/b', isFirst: false },
    { kind: 'exact', path: '/a/b' },
  ])
  const found = ['/', '/x', '/a', '/a/', '/a/b', '/a/bc'].map((path) => table.find(path, new Sink()))
  assert.deepEqual(
    found.map((choice) => (choice.kind === 'location' ? choice.value : choice.kind)),
    [0, 0, 0, 1, 3, 2],
  )
})

test('the first pattern goes before a prefix, unless that is final', () => {
  const table = locations([
    { kind: 'prefix', path: '/a', isFirst: false },
    { kind: 'prefix', path: '/a/final', isFirst: true },
    { kind: 'pattern', pattern: pattern('^/a/(?<x>.)', ['x']) },
    { kind: 'pattern', pattern: pattern('^/a/') },
    { kind: 'named', name: 'n' },
  ])
  const sink = new Sink()
  const value = (path: string) => {
    const choice = table.find(path, sink)
    return choice.kind === 'location' ? choice.value : choice.kind
  }
  assert.deepEqual(['/a/b', '/a/final/b', '/a/', '/ax', '/none'].map(value), [2, 1, 3, 0, 'none'])
  value('/a/q')
  assert.deepEqual([sink.captures[1], sink.variables.get('x')], ['q', 'q'])
  assert.equal(table.named('n'), 4)
  assert.equal(table.named('other'), undefined)
})

test('a path that lacks only its slash is sent to it, where nothing else has that path', () => {
  const table = locations([
    { kind: 'prefix', path: '/up/', isFirst: false, addsSlash: true },
    { kind: 'prefix', path: '/both/', isFirst: false, addsSlash: true },
    { kind: 'prefix', path: '/both', isFirst: false },
    { kind: 'prefix', path: '/files/', isFirst: false },
    { kind: 'pattern', pattern: pattern('.') },
  ])
  assert.deepEqual(table.find('/up', new Sink()), { kind: 'slash', value: 0, path: '/up/' })
  assert.equal(table.find('/both', new Sink()).kind, 'location')
  assert.deepEqual(table.find('/files', new Sink()), { kind: 'location', value: 4, isFinal: true })
})

test('thousands of locations are found as fast as few', () => {
  const rules = Array.from(
    { length: 5_000 },
    (_value, index) => ({ kind: 'prefix', path: `/${index}/`, isFirst: false }) as const,
  )
  const table = locations(rules)
  const choice = table.find('/4321/x', new Sink())
  assert.equal(choice.kind === 'location' && choice.value, 4321)
})

test('servers are found by exact name, suffix, prefix, pattern, default', () => {
  const table = new ServerTable([
    { names: [{ kind: 'name', name: 'a.test' }], isDefault: false, value: 'exact' },
    { names: [{ kind: 'pattern', pattern: pattern('^(?<who>.+)\\.re$', ['who']) }], isDefault: false, value: 'pattern' },
    { names: [{ kind: 'name', name: '*.re' }], isDefault: false, value: 'suffix' },
    { names: [{ kind: 'name', name: '' }], isDefault: true, value: 'default' },
  ])
  const sink = new Sink()
  assert.deepEqual(
    ['a.test', 'joe.re', 'x', ''].map((host) => table.match(host, sink)?.value),
    ['exact', 'suffix', 'default', 'default'],
  )
  assert.equal(new ServerTable([]).match('a', sink), undefined)
})

test('a map finds texts without regard to case, then patterns in their order, then its fallback', () => {
  const map = new ValueMap({
    texts: [{ text: 'one', value: 1 }],
    patterns: [
      { pattern: pattern('^t(.)'), value: 2 },
      { pattern: pattern('^tw'), value: 3 },
    ],
    fallback: 0,
    areHostnames: false,
  })
  const sink = new Sink()
  assert.deepEqual(
    ['One', 'two', 'three', 'x', ''].map((key) => map.find(key, sink)),
    [1, 2, 2, 0, 0],
  )
  assert.equal(sink.captures[1], 'h')
})

test('a map of host names finds wildcards, and heeds no trailing dot', () => {
  const texts = ['a.test', '*.b.test', '.c.test', 'd.*'].map((text) => ({ text, value: text }))
  const map = new ValueMap({ texts, patterns: [], fallback: '', areHostnames: true })
  const keys = ['a.test', 'A.test.', 'x.b.test', 'b.test', 'c.test', 'x.c.test', 'd.anything', 'e']
  assert.deepEqual(
    keys.map((key) => map.find(key, new Sink())),
    ['a.test', 'a.test', '*.b.test', '', '.c.test', '.c.test', 'd.*', ''],
  )
})

test('templates are read piece by piece, and split where a question mark is written', () => {
  const reader = (name: string) => ({ read: () => `<${name}>`, isShared: name !== 'own' })
  const read = (source: Parameters<typeof compileTemplate>[0]) => compileTemplate(source, reader).read(undefined)
  assert.equal(read(['a', { variable: 'b' }, 'c']), 'a<b>c')
  assert.equal(read([]), '')
  assert.equal(compileTemplate(['x', { variable: 'own' }], reader).isShared, false)
  assert.equal(compileTemplate(['x', { variable: 'other' }], reader).isShared, true)
  assert.deepEqual(splitAtQuestion([{ variable: 'u' }, '/a?b', { variable: 'c' }, '?']), [
    [{ variable: 'u' }, '/a'],
    ['b', { variable: 'c' }, '?'],
  ])
  assert.equal(splitAtQuestion([{ variable: 'u' }, '/a']), undefined)
})

test('expires counts from now, from the file, or to a time of day', () => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
  const after = (seconds: number, isFromModified = false) =>
    expiresFields({ kind: 'after', seconds, isFromModified }, now - 60_000, now)
  assert.deepEqual(after(3600), { expires: 'Fri, 02 Jan 2026 04:04:05 GMT', cacheControl: 'max-age=3600', isFleeting: true })
  assert.equal(after(-1)?.cacheControl, 'no-cache')
  assert.equal(after(90, true)?.cacheControl, 'max-age=30')
  assert.equal(after(30, true)?.cacheControl, 'no-cache')
  assert.equal(after(0)?.cacheControl, 'max-age=0')
  assert.equal(expiresFields({ kind: 'off' }, undefined, now), undefined)
  assert.equal(expiresFields({ kind: 'max' }, undefined, now)?.cacheControl, 'max-age=315360000')
  assert.equal(expiresFields({ kind: 'epoch' }, undefined, now)?.cacheControl, 'no-cache')
  const daily = Number(expiresFields({ kind: 'daily', seconds: 3600 }, undefined, now)?.cacheControl.split('=')[1])
  assert.ok(daily > 0 && daily <= 86_400)
})
