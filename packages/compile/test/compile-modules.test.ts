import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempSite, writeFiles } from '@svc/testkit'
import { EMPTY_MODULE } from '../src/index.ts'
import { compilerFor, problemOf } from './compile-support.ts'

const broken: [name: string, source: string, code: string, line: number, column: number, message: RegExp][] = [
  ['syntax error', 'const a = 1\nconst b = ;\n', 'RENDER_COMPILE', 2, 11, /Unexpected token/],
  ['syntax error after non-ASCII text', 'const é = "日本"; const y = ;', 'RENDER_COMPILE', 1, 27, /Unexpected token/],
  ['top-level await', 'export const a = 1\nconst b = await fetch("x")\n', 'RENDER_COMPILE', 2, 11, /top-level await/],
  ['top-level for await', 'const list = []\nfor await (const x of list) {}\n', 'RENDER_COMPILE', 2, 1, /top-level await/],
  ['use server in a file', '"use server"\nexport const a = 1', 'RENDER_COMPILE', 1, 1, /route\.ts/],
  ['use server in a function', 'export async function f() {\n  "use server"\n}', 'RENDER_COMPILE', 2, 3, /route\.ts/],
  ['missing file', 'import a from "./gone"\nexport { a }', 'RENDER_RESOLVE', 1, 15, /cannot find "\.\/gone"/],
  ['missing package', '\n  export * from "nope"', 'RENDER_RESOLVE', 2, 17, /is the package installed/],
  ['Node built-in', 'import fs from "node:fs"\nfs.a()', 'RENDER_RESOLVE', 1, 16, /"node:fs" is not available to a site \(use/],
  ['Node built-in without prefix', 'import { a } from "child_process"\na()', 'RENDER_RESOLVE', 1, 19, /not available/],
  ['file outside of the site', 'import "../../outside.ts"', 'RENDER_RESOLVE', 1, 8, /outside of the site/],
]

for (const [name, source, code, line, column, message] of broken) {
  test(`${name}: the error names file, line and column`, async (t) => {
    const parent = tempSite(t, { 'outside.ts': 'export {}', 'site/app/page.ts': source })
    const { compiler } = compilerFor(t, join(parent, 'site'))
    const file = join(parent, 'site/app/page.ts')
    const problem = await problemOf(compiler.load(file))
    assert.equal(problem.code, code)
    assert.deepEqual([problem.file, problem.line, problem.column], [file, line, column])
    assert.match(problem.message, message)
    assert.ok(problem.message.startsWith(`${file}:${line}:${column}: `))
    assert.match(problem.frame, new RegExp(`^> +${line} \\| .*\\n.*\\| {${column}}\\^`, 'm'))
  })
}

test('JSON and style sheets that do not parse are errors with a place', async (t) => {
  const root = tempSite(t, { 'a.json': '{"a": }', 'b.css': '@import "./gone.css";', 'c.module.css': '@import "../../x.css";' })
  const { compiler } = compilerFor(t, root)
  assert.equal((await problemOf(compiler.load(join(root, 'a.json')))).code, 'RENDER_COMPILE')
  const missing = await problemOf(compiler.load(join(root, 'b.css')))
  assert.equal(missing.code, 'RENDER_RESOLVE')
  assert.deepEqual([missing.line, missing.column], [1, 9])
  assert.equal((await problemOf(compiler.load(join(root, 'c.module.css')))).code, 'RENDER_RESOLVE')
})

test('an ES module becomes a synchronous factory body with lowered async functions', async (t) => {
  const root = tempSite(t, {
    'page.tsx': `import { b, type T } from './b'
export default async function Page({ p }: { p: T }) { for await (const x of b()) await x; const m = await import('./c.js'); return <p>{m.c}</p> }`,
    'b.ts': 'export type T = 1; export async function* b() { yield 1 }',
    'c.ts': 'export const c = process.env.NODE_ENV',
  })
  const { compiler } = compilerFor(t, root)
  const page = await compiler.load(join(root, 'page.tsx'))
  assert.equal(page.format, 'esm')
  assert.deepEqual(page.dependencies, {
    './b': join(root, 'b.ts'),
    'react/jsx-runtime': 'builtin:react/jsx-runtime',
    './c.js': join(root, 'c.ts'),
  })
  assert.doesNotMatch(page.code, /\basync\b|\bawait\b/)
  assert.match(page.code, /babelHelpers\.asyncToGenerator/)
  assert.equal(page.maps.length, 2)
  assert.match((await compiler.load(join(root, 'c.ts'))).code, /"production"/)
})

test('a failing import() or require() is left to the moment it is reached', async (t) => {
  const root = tempSite(t, {
    'page.ts': 'export const f = () => import("./gone")',
    'node_modules/p/index.js': 'try { exports.fs = require("fs") } catch {}\nexports.x = require("./x")',
    'node_modules/p/x.js': 'exports.y = () => import("./z.js")',
    'node_modules/p/z.js': 'export default 1',
  })
  const { compiler } = compilerFor(t, root)
  assert.match((await compiler.load(join(root, 'page.ts'))).dependencies['./gone'] ?? '', /^!.*page\.ts:1:31: cannot find/)
  const p = await compiler.load(join(root, 'node_modules/p/index.js'))
  assert.equal(p.format, 'cjs')
  assert.match(p.dependencies['fs'] ?? '', /^!.*"fs" is not available/)
  assert.equal(p.dependencies['./x'], join(root, 'node_modules/p/x.js'))
  const x = await compiler.load(join(root, 'node_modules/p/x.js'))
  assert.match(x.code, /Promise\.resolve\("\.\/z\.js"\)\.then\(require\)/)
  assert.equal(x.dependencies['./z.js'], join(root, 'node_modules/p/z.js'))
  assert.equal((await compiler.load(join(root, 'node_modules/p/z.js'))).format, 'esm')
})

test('branches of a CommonJS package that NODE_ENV makes unreachable are not loaded', async (t) => {
  const root = tempSite(t, {
    'node_modules/p/index.js':
      'if (process.env.NODE_ENV === "production") module.exports = require("./prod"); else module.exports = require("./dev")',
    'node_modules/p/prod.js': 'module.exports = 1',
    'node_modules/p/dev.js': 'module.exports = 2',
  })
  const file = join(root, 'node_modules/p/index.js')
  assert.deepEqual(Object.keys((await compilerFor(t, root).compiler.load(file)).dependencies), ['./prod'])
  assert.deepEqual(Object.keys((await compilerFor(t, root, 'development').compiler.load(file)).dependencies), ['./dev'])
})

test('packages resolve by exports conditions, browser field, and from a hoisted node_modules', async (t) => {
  const parent = tempSite(t, {
    'node_modules/hoisted/index.js': 'module.exports = 1',
    'site/page.ts': 'import "both"; import "edge"; import "browserish"; import "hoisted"; import "both/sub"',
    'site/node_modules/both/package.json': JSON.stringify({
      exports: { '.': { import: './i.js', require: './r.js' }, './sub': { node: './n.js', default: './d.js' } },
    }),
    'site/node_modules/both/i.js': 'export {}',
    'site/node_modules/both/d.js': 'export {}',
    'site/node_modules/edge/package.json': JSON.stringify({
      type: 'module',
      exports: { browser: './b.js', 'edge-light': './e.js', default: './d.js' },
    }),
    'site/node_modules/edge/e.js': 'export default 1',
    'site/node_modules/edge/b.js': 'export default 2',
    'site/node_modules/browserish/package.json': JSON.stringify({ main: 'm.js', browser: { './m.js': './b.js', fs: false } }),
    'site/node_modules/browserish/m.js': '',
    'site/node_modules/browserish/b.js': 'require("fs")',
  })
  const root = join(parent, 'site')
  const { compiler } = compilerFor(t, root)
  const page = await compiler.load(join(root, 'page.ts'))
  assert.deepEqual(page.dependencies, {
    both: join(root, 'node_modules/both/i.js'),
    'both/sub': join(root, 'node_modules/both/d.js'),
    // The order of the package's own conditions decides.
    edge: join(root, 'node_modules/edge/b.js'),
    browserish: join(root, 'node_modules/browserish/b.js'),
    hoisted: join(parent, 'node_modules/hoisted/index.js'),
  })
  const browserish = await compiler.load(join(root, 'node_modules/browserish/b.js'))
  assert.deepEqual(browserish.dependencies, { fs: EMPTY_MODULE })
  assert.equal((await compiler.load(EMPTY_MODULE)).format, 'cjs')
})

test('paths and baseUrl of tsconfig.json and jsconfig.json are honoured', async (t) => {
  const files = (config: string) => ({
    [config]: '{ // a comment\n "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["./src/*"] } } }',
    'src/a.js': 'import "@/b"; import "lib/c"',
    'src/b.ts': 'export {}',
    'lib/c.ts': 'export {}',
  })
  for (const config of ['tsconfig.json', 'jsconfig.json']) {
    const root = tempSite(t, files(config))
    const { dependencies } = await compilerFor(t, root).compiler.load(join(root, 'src/a.js'))
    assert.deepEqual(dependencies, { '@/b': join(root, 'src/b.ts'), 'lib/c': join(root, 'lib/c.ts') }, config)
  }
})

test('CSS modules get unique class names, global sheets and their imports are inlined', async (t) => {
  const root = tempSite(t, {
    'a/page.module.css': '.title { color: red } .big { composes: title }',
    'b/page.module.css': '.title { background: url(/x.png) }',
    'global.css': '@import "base.css"; @import url(https://fonts.example/x.css); body { margin: 0 }',
    'base.css': 'html { color: blue }',
  })
  const { compiler } = compilerFor(t, root, 'development')
  const style = async (file: string) => {
    const module = await compiler.load(join(root, file))
    assert.equal(module.format, 'css')
    return { ...(JSON.parse(module.code) as { css: string; classes: Record<string, string> }), watches: module.watches }
  }
  const [a, b, global] = [await style('a/page.module.css'), await style('b/page.module.css'), await style('global.css')]
  assert.notEqual(a.classes['title'], b.classes['title'])
  assert.ok(a.css.includes(`.${a.classes['title']} {`))
  assert.deepEqual(
    a.classes['big']?.split(' ').sort(),
    [a.classes['title'], a.classes['big']?.split(' ').find((n) => n !== a.classes['title'])].sort(),
  )
  assert.match(b.css, /url\(\/x\.png\)/)
  assert.match(global.css, /@import "https:\/\/fonts\.example\/x\.css"|@import url/)
  assert.match(global.css, /html \{\s+color: blue;?\s+\}[\s\S]*body \{/)
  assert.deepEqual(global.classes, {})
  assert.deepEqual(global.watches, [join(root, 'base.css')])
  // The sheet's own file is unchanged, a part of it is not.
  writeFiles(root, { 'base.css': 'html { color: green }' })
  assert.match((await style('global.css')).css, /green/)
})

test('in production style sheets carry neither comments nor needless space, and keep their class names', async (t) => {
  const root = tempSite(t, {
    'card.module.css': '/* a note */\n.title {\n  color: red;\n}\n',
    'list.module.css': '.title { margin: 0 }',
  })
  const cssOf = async (mode: 'production' | 'development', file: string) => {
    const { code } = await compilerFor(t, root, mode).compiler.load(join(root, file))
    return JSON.parse(code) as { css: string; classes: Record<string, string> }
  }
  const [card, list] = [await cssOf('production', 'card.module.css'), await cssOf('production', 'list.module.css')]
  assert.equal(card.css.trim(), `.${card.classes['title']}{color:red}`)
  assert.notEqual(card.classes['title'], list.classes['title'])
  assert.deepEqual((await cssOf('development', 'card.module.css')).classes, card.classes)
})

test('"use client" warns once about event handlers, and only then', async (t) => {
  const root = tempSite(t, {
    'a.tsx': '"use client"\nexport default () => <p>\n  <button onClick={() => 1} onFocus={() => 2}>x</button></p>',
    'b.tsx': '"use client"\nexport default () => <p>once</p>',
    'c.tsx': 'export default () => <p onClick={() => 1}>x</p>',
  })
  const { compiler } = compilerFor(t, root)
  const warnings = async (name: string) => (await compiler.load(join(root, name))).warnings
  assert.equal((await warnings('a.tsx')).length, 1)
  assert.match((await warnings('a.tsx'))[0] ?? '', /a\.tsx:3:11: event handlers/)
  assert.deepEqual([await warnings('b.tsx'), await warnings('c.tsx')], [[], []])
})
