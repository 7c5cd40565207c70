// The form in which the build puts programs into dist/: scripts whose compiled code is kept once they have run.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { repositoryRoot, tempDir, writeFiles } from '@svc/testkit'
import { bundleProgram } from '../scripts/programs/bundle-program.mjs'

const sources = {
  'package.json': '{"type":"module"}',
  'node_modules/plain/index.js': 'exports.name = "CommonJS"',
  'node_modules/plain/package.json': '{"main":"index.js"}',
  // It is both required and imported, so its variables get their values after its module has run.
  'node_modules/late/package.json': '{"type":"module","main":"index.js"}',
  'node_modules/late/index.js': 'export let late = "late"\nexport const shout = () => late.toUpperCase()',
  'node_modules/asks/package.json': '{"main":"index.js"}',
  'node_modules/asks/index.js': 'exports.answer = require("late").shout()',
  'counter.js': 'export let count = 0\nexport function increase() {\n  count += 1\n}',
  'other.js': `import { count, increase } from './counter.js'
    export function twice() {
      increase()
      increase()
      return { count }
    }`,
  'main.js': `import fs, { existsSync } from 'node:fs'
    import * as path from 'node:path'
    import plain from 'plain'
    import process from 'node:process'
    import { answer } from 'asks'
    import { late, shout } from 'late'
    import { count, increase } from './counter.js'
    export default function never() {}
    function broken() {
      throw new Error('broken')
    }
    async function main() {
      increase()
      const { twice } = await import('./other.js')
      const { late: later } = await import('late')
      const { crc32 } = await import('node:zlib')
      const { default: external } = await import('plain')
      const { count: inOther } = twice()
      const place = path.basename(new URL('.', import.meta['url']).pathname)
      let line
      try {
        broken()
      } catch ({ stack }) {
        line = /main\\.cjs:(\\d+)/.exec(stack)?.[1]
      }
      const isSame = fs.existsSync === existsSync && typeof crc32 === 'function' && external === plain && process.pid > 0
      console.log(JSON.stringify({ count, inOther, place, plain: plain.name, answer, late, shouted: shout(), later, isSame, line }))
    }
    void main()`,
}

function start(file: string, cache: string): string {
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache }
  return execFileSync(join(repositoryRoot, 'bin/node'), [file], { encoding: 'utf8', timeout: 30_000, env })
}

async function built(t: TestContext) {
  const dir = tempDir(t, 'program')
  writeFiles(dir, sources)
  const outDir = join(dir, 'out')
  await bundleProgram({ name: 'main', path: './main.js', root: dir, outDir, external: ['plain'], plugins: [] })
  const cache = join(dir, 'cache')
  const run = () => JSON.parse(start(join(outDir, 'main.js'), cache))
  const kept = () => readdirSync(cache, { withFileTypes: true }).flatMap((one) => (one.isFile() ? [join(cache, one.name)] : []))
  return { outDir, run, kept }
}

test('modules of a program keep their meaning as scripts: changing exports, packages, built-in modules, places and lines', async (t) => {
  const { outDir, run } = await built(t)
  const { line, ...rest } = run()
  assert.deepEqual(rest, {
    count: 3,
    inOther: 3,
    place: 'out',
    plain: 'CommonJS',
    answer: 'LATE',
    late: 'late',
    shouted: 'LATE',
    later: 'late',
    isSame: true,
  })
  const lines = readFileSync(join(outDir, 'main.cjs'), 'utf8').split('\n')
  assert.match(lines[Number(line) - 1] ?? '', /throw new Error\("broken"\)/)
})

test('a program keeps its compiled code at its end, and reads it at the next start', async (t) => {
  const { run, kept } = await built(t)
  const first = run()
  const files = kept()
  const main = files.find((file) => file.endsWith('-main'))
  assert.ok(main !== undefined && files.length > 1, String(files))
  for (const file of files) utimesSync(file, 1, 1)
  assert.deepEqual(run(), first)
  for (const file of kept()) assert.equal(statSync(file).mtimeMs, 1000, `${file} was written again`)
})

for (const [what, damage] of [
  ['is cut off', (file: string) => truncateSync(file, statSync(file).size / 2)],
  ['is empty', (file: string) => truncateSync(file, 0)],
  ['is of another version of V8', (file: string) => writeFileSync(file, readFileSync(file).fill(7, 4, 8))],
] as const) {
  test(`compiled code that ${what} is replaced`, async (t) => {
    const { run, kept } = await built(t)
    const first = run()
    const [file = ''] = kept().filter((one) => one.endsWith('-main'))
    const { size } = statSync(file)
    damage(file)
    utimesSync(file, 1, 1)
    assert.deepEqual(run(), first)
    assert.notEqual(statSync(file).mtimeMs, 1000)
    assert.equal(statSync(file).size, size)
  })
}

test('a limit of the heap counts although Node.js reads its own compiled code again', async (t) => {
  const dir = tempDir(t, 'program')
  writeFiles(dir, {
    'package.json': '{"type":"module"}',
    'main.js': `import { getHeapStatistics } from 'node:v8'
      console.log(getHeapStatistics().heap_size_limit)`,
  })
  await bundleProgram({ name: 'main', path: './main.js', root: dir, outDir: dir, external: [], plugins: [] })
  const limitOf = (...flags: string[]) =>
    Number(
      execFileSync(join(repositoryRoot, 'bin/node'), [...flags, join(dir, 'main.js')], { encoding: 'utf8', timeout: 30_000 }),
    )
  assert.ok(limitOf('--max-old-space-size=100') < 200 * 2 ** 20)
  assert.ok(limitOf() > 200 * 2 ** 20)
})

test('a program runs without a place for compiled code', async (t) => {
  const { outDir } = await built(t)
  const file = join(outDir, 'main.js')
  assert.equal(JSON.parse(start(file, join(file, 'no-directory'))).count, 3)
})
