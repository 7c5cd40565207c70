import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tomlPositions } from '../src/source/toml-positions.ts'

const text = [
  '# comment', // 1
  'title = "x"', // 2
  '[a.b]', // 3
  '  "quoted key" = { x = 1, y = [ { z = 1 }, 2 ] }', // 4
  '[[list]]', // 5
  'id = 1', // 6
  '[list.sub]', // 7
  'deep.er = 1', // 8
  '[[list]]', // 9
  '[[list.inner]]', // 10
  'k = """', // 11
  '[[list]]', // 12: text
  '"""', // 13
  '[[list.inner]]', // 14
  'k = 1', // 15
].join('\n')

const cases: readonly [path: readonly (string | number)[], line: number, column: number][] = [
  [['title'], 2, 1],
  [['a'], 3, 1],
  [['a', 'b'], 3, 1],
  [['a', 'b', 'quoted key'], 4, 3],
  [['a', 'b', 'quoted key', 'x'], 4, 20],
  [['a', 'b', 'quoted key', 'y', 0], 4, 33],
  [['a', 'b', 'quoted key', 'y', 0, 'z'], 4, 35],
  [['a', 'b', 'quoted key', 'y', 1], 4, 44],
  [['list', 0, 'id'], 6, 1],
  [['list', 0, 'sub'], 7, 1],
  [['list', 0, 'sub', 'deep'], 8, 1],
  [['list', 0, 'sub', 'deep', 'er'], 8, 1],
  [['list', 1], 9, 1],
  [['list', 1, 'inner', 0, 'k'], 11, 1],
  [['list', 1, 'inner', 1], 14, 1],
  [['list', 1, 'inner', 1, 'k'], 15, 1],
  // A key that is not there: the nearest table around it, else the start.
  [['list', 1, 'inner', 1, 'missing'], 14, 1],
  [['list', 0, 'sub', 'missing', 'too'], 7, 1],
  [['missing'], 1, 1],
]

test('every key and array element has its place in the text', () => {
  const positionOf = tomlPositions(text)
  for (const [path, line, column] of cases) assert.deepEqual(positionOf(path), { line, column }, path.join('.'))
})

test('lines end with CRLF or LF, and characters outside of the basic plane count as two units', () => {
  assert.deepEqual(tomlPositions('a = 1\r\nb = 2\r\n')(['b']), { line: 2, column: 1 })
  assert.deepEqual(tomlPositions('a = ["😀", "x"]')(['a', 1]), { line: 1, column: 12 })
})
