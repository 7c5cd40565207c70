import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { tempSite } from '@svc/testkit'
import { scriptOf } from '../src/module-kind.ts'
import { compilerFor, problemOf } from './compile-support.ts'

type Exports = Record<string, unknown>
type Importer = (specifier: string) => Exports

/** Compiles a file and runs its factory; each import gives an object that holds its specifier as `default`. */
async function evaluate(t: TestContext, name: string, source: string): Promise<{ exports: Exports; imported: string[] }> {
  const others = { 'y.ts': 'export default 1', 'z.ts': 'export default 1' }
  const root = tempSite(t, { ...others, [name]: source })
  const module = await compilerFor(t, root).compiler.load(join(root, name))
  const factory = runInNewContext(scriptOf(module)) as (...args: unknown[]) => void
  const imported: string[] = []
  const importer: Importer = (specifier) => {
    imported.push(specifier)
    return { default: specifier }
  }
  const exports: Exports = {}
  if (module.format === 'esm')
    factory(
      importer,
      exports,
      () => undefined,
      async (specifier: string) => importer(specifier),
      {},
    )
  else factory(exports, importer, { exports }, '', '')
  return { exports, imported }
}

const behindOtherText: [name: string, source: string][] = [
  ['a comment', "/* c */ import y from './y'\nexport const found = y"],
  ['a comment of many lines', "/**\n * c\n */ /* d */ import y from './y'\nexport const found = y"],
  ['another import', "import './z'; import y from './y'; export const found = y"],
  ['a directive', "/* c */ 'use client'; /* d */ import y from './y'; export const found = y"],
  ['an export', "export const a = 1; export { default as b } from './z'; import y from './y'; export const found = y"],
  ['a hashbang', "#!/usr/bin/env node\nimport y from './y'\nexport const found = y"],
  ['a byte order mark', "\ufeffimport y from './y'\nexport const found = y"],
  ['a use of it', "export const found = y; /* late */ import y from './y'"],
]

for (const [name, source] of behindOtherText) {
  test(`an import behind ${name} is found`, async (t) => {
    const { exports, imported } = await evaluate(t, 'page.tsx', source)
    assert.equal(exports['found'], './y')
    assert.ok(imported.includes('./y'))
  })
}

test('text that looks like code of the compiler is not changed', async (t) => {
  const text = '\nconst __vite_ssr_import_0__ = await __vite_ssr_import__("x")\nimport a from "b"; export default 1'
  const { exports, imported } = await evaluate(t, 'page.ts', `import './y'\nexport const text = \`${text}\``)
  assert.equal(exports['text'], text)
  assert.deepEqual(imported, ['./y'])
})

test('import() inside of import() is replaced whole in CommonJS', async (t) => {
  const { exports } = await evaluate(t, 'a.cjs', "exports.f = () => import(import('./y') && './z')")
  assert.equal(((await (exports['f'] as () => Promise<Exports>)()) as Exports)['default'], './z')
})

test('a comment or a string does not decide the format of a module', async (t) => {
  const root = tempSite(t, {
    'comment.js': '// module.exports = require("x")\nglobalThis.a = "exports.b"',
    'real.js': 'module /* c */ . exports = 1',
    'member.js': 'a.module.exports = exports_.b',
  })
  const { compiler } = compilerFor(t, root)
  const formats = ['comment', 'real', 'member'].map(async (name) => (await compiler.load(join(root, `${name}.js`))).format)
  assert.deepEqual(await Promise.all(formats), ['esm', 'cjs', 'esm'])
})

test('errors name the place of the code, not of a comment or a text that looks like it', async (t) => {
  const root = tempSite(t, {
    'a.ts': '// import("./gone")\nconst s = "./gone"\nexport const f = () => import("./gone")\nexport { s }',
    'b.ts':
      '/*\nfor await (x of y)\n*/\nexport async function f() { for await (const a of []) a }\n/* c */ for await (const b of []) b',
    'c.json': '{"a": "at position 3", }',
  })
  const { compiler } = compilerFor(t, root)
  assert.match((await compiler.load(join(root, 'a.ts'))).dependencies['./gone'] ?? '', /a\.ts:3:31: cannot find/)
  const loop = await problemOf(compiler.load(join(root, 'b.ts')))
  assert.deepEqual([loop.line, loop.column], [5, 9])
  const json = await problemOf(compiler.load(join(root, 'c.json')))
  assert.deepEqual([json.line, json.column], [1, 24])
})
