import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFiles } from './read-text.ts'

/** Maps of which each reads the next one, the last `$host`. */
function chain(length: number, last = 'host'): string {
  const lines = Array.from(
    { length },
    (_, index) => `map $${index === length - 1 ? last : `m${index + 1}`} $m${index} { a b; }\n`,
  )
  return `${lines.join('')}server { root /; add_header X $m0; }`
}

test('as many maps may be made from each other as with nginx', async (t) => {
  const fits = await readFiles(t, { 'a.conf': chain(99) })
  assert.deepEqual(fits.lines, [])
  const over = await readFiles(t, { 'a.conf': chain(100) })
  assert.deepEqual(over.lines, [
    'a.conf:1:9: variable "m0" depends on too many other variables (at most 100 variables may depend on each other)',
  ])
})

test('chains and cycles of any length are reported once', async (t) => {
  const long = await readFiles(t, { 'a.conf': chain(20_000) })
  assert.deepEqual(long.lines, [
    'a.conf:19901:13: variable "m19900" depends on too many other variables (at most 100 variables may depend on each other)',
  ])
  const circle = await readFiles(t, { 'a.conf': chain(20_000, 'm0') })
  const way = [1, 2, 3, 4, 5].map((number) => `$m${number} (a.conf:${number + 1}:1)`).join(' reads ')
  assert.deepEqual(circle.lines, [`a.conf:1:9: cycle while evaluating variable "m0" ($m0 reads ${way} reads ... reads $m0)`])
  const wide = Array.from({ length: 20_000 }, (_, index) => `map $host $m${index} { a b; }\n`)
  const all = Array.from({ length: 20_000 }, (_, index) => `v${index} $m${index};\n`)
  const read = await readFiles(t, { 'a.conf': `${wide.join('')}map $host $all { ${all.join('')} }` })
  assert.deepEqual(read.lines, [])
})

test('text lost behind an unclosed quote causes no further problems', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': 'server { root /; add_header X $later; }\n',
    'b.conf': 'server { server_name b; root "/; }\nmap $host $later { a b; }\n',
    'c.conf': 'server { server_name c; frob x; }\n',
  })
  assert.deepEqual(lines, [
    'b.conf:1:30: unexpected end of file, expecting " (the quote that opens here is not closed)',
    'c.conf:1:25: unknown directive "frob"',
  ])
})
