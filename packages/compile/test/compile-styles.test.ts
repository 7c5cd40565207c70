import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir, tempSite } from '@svc/testkit'
import { compilerFor, problemOf } from './compile-support.ts'

type Files = Readonly<Record<string, string>>

async function compile(
  t: TestContext,
  files: Files,
  name = Object.keys(files)[0] ?? '',
  mode: 'production' | 'development' = 'development',
) {
  const root = tempSite(t, files)
  const module = await compilerFor(t, root, mode).compiler.load(join(root, name))
  const { css, classes } = JSON.parse(module.code) as { css: string; classes: Record<string, string> }
  const plain = (text: string) => text.replaceAll(/_[0-9a-f]{6}_/g, '-')
  const readable = Object.fromEntries(Object.entries(classes).map(([key, value]) => [key, plain(value)]))
  const { dependencies, watches, warnings } = module
  return { dependencies, watches, warnings, css: plain(css), classes: readable, root }
}

const tailwind = {
  'node_modules/tailwindcss/package.json': '{"name": "tailwindcss", "version": "3.4.0", "main": "lib/index.js"}',
  'node_modules/tailwindcss/lib/index.js': '"use strict"; module.exports = function () {}',
}

const faults: [name: string, files: Files, place: string, message: RegExp][] = [
  [
    'a package that is a script',
    { 'a.css': '/* c */\n@import "tailwindcss";', ...tailwind },
    'a.css:2:9',
    /"tailwindcss" is not a style sheet \(.*Tailwind/,
  ],
  ['a script of the site', { 'a.css': '@import "./x.js";', 'x.js': '' }, 'a.css:1:9', /is not a style sheet/],
  ['a script behind a name that is no file', { 'a.css': '@import "./x";', 'x.js': '' }, 'a.css:1:9', /cannot find/],
  ['a module of the server', { 'a.css': '@import "react";' }, 'a.css:1:9', /cannot find "react"/],
  [
    'an import of an imported sheet',
    { 'a.css': '@import "./b.css";', 'b.css': '/* é */ @import "./gone.css";' },
    'b.css:1:17',
    /cannot find "\.\/gone\.css"/,
  ],
  ['a sheet outside of the site', { 'site/a.css': '@import "../x.css";', 'x.css': '' }, 'site/a.css:1:9', /outside of the site/],
  [
    'an unknown class of the same file',
    { 'a.module.css': '/* composes: x */\n.a { composes: b nope; }\n.b {}' },
    'a.module.css:2:18',
    /there is no class "nope"/,
  ],
  [
    'an unknown class of another file',
    { 'a.module.css': '.a {}\n.b { composes: nope from "./b.module.css"; }', 'b.module.css': '.x {}' },
    'a.module.css:2:16',
    /"nope" never appears in ".*[/]b\.module\.css"/,
  ],
  [
    'a missing file of composes',
    { 'a.module.css': '.b { composes: x from "./gone.module.css"; }' },
    'a.module.css:1:23',
    /cannot find/,
  ],
  [
    'a global sheet in composes',
    { 'a.module.css': '.b { composes: x from "./b.css"; }', 'b.css': '.x {}' },
    'a.module.css:1:23',
    /no CSS module/,
  ],
  [
    'classes that compose each other',
    { 'a.module.css': '.a { composes: b; }\n.b { composes: a; }' },
    'a.module.css:1:16',
    /compose each other/,
  ],
  [
    'files that compose each other',
    { 'a.module.css': '.a { composes: x from "./b.module.css"; }', 'b.module.css': '.x { composes: a from "./a.module.css"; }' },
    'b.module.css:1:23',
    /in a circle/,
  ],
  [
    '@value',
    { 'a.module.css': '.a {}\n@value primary: red;' },
    'a.module.css:2:1',
    /@value is not supported \(use a custom property/,
  ],
]

for (const [name, files, place, message] of faults) {
  test(`a style sheet with ${name} is an error with its place`, async (t) => {
    const isInside = Object.keys(files)[0]?.startsWith('site/') === true
    const parent = tempSite(t, files)
    const root = isInside ? join(parent, 'site') : parent
    const compiling = compilerFor(t, root).compiler.load(join(parent, Object.keys(files)[0] ?? ''))
    const problem = await problemOf(compiling)
    assert.match(problem.code ?? '', /^RENDER_(?:COMPILE|RESOLVE)$/)
    assert.ok(problem.message.startsWith(`${join(parent, place)}: `), problem.message)
    assert.match(problem.message, message)
    assert.match(problem.frame, /\^/)
  })
}

test('classes are composed of others of the same file, of other files in chains, and of global ones', async (t) => {
  const files = {
    'app/a.module.css':
      '.one { color: red } .two, .three { composes: one; composes: x y from "../b.module.css"; composes: g h from global; color: blue }',
    'b.module.css': '.x { margin: 0 } .y { composes: x; composes: z from "./c.module.css"; padding: 0 }',
    'c.module.css': '.z { border: 0 }',
  }
  for (const mode of ['development', 'production'] as const) {
    const { classes, css, dependencies, watches, root } = await compile(t, files, 'app/a.module.css', mode)
    const x = ['b-x', 'c-z', 'b-y']
    assert.deepEqual(new Set(classes['two']?.split(' ')), new Set(['a-one', ...x, 'g', 'h', 'a-two']))
    assert.deepEqual(new Set(classes['three']?.split(' ')), new Set(['a-one', ...x, 'g', 'h', 'a-three']))
    assert.equal(classes['one'], 'a-one')
    // The other sheets are modules of their own, before this one.
    assert.deepEqual(dependencies, { '../b.module.css': join(root, 'b.module.css') })
    assert.deepEqual(watches.toSorted(), [join(root, 'b.module.css'), join(root, 'c.module.css')])
    assert.match(css, /\.a-one\s*\{/)
    assert.doesNotMatch(css, /composed|margin|border/)
  }
})

test('a sheet that changes what others compose is compiled again with them', async (t) => {
  const root = tempSite(t, {
    'a.module.css': '.a { composes: x from "./b.module.css"; }',
    'b.module.css': '.x { composes: g from global; }',
  })
  const { compiler } = compilerFor(t, root)
  const load = async () =>
    (JSON.parse((await compiler.load(join(root, 'a.module.css'))).code) as { classes: { a: string } }).classes.a
  assert.match(await load(), /^g /)
  writeFileSync(join(root, 'b.module.css'), '.x { composes: other from global; }')
  assert.match(await load(), /^other /)
})

test('imports keep layers, media and conditions; packages give their style sheet; cycles and remote addresses stay', async (t) => {
  const { css } = await compile(t, {
    'a.css': `@charset "utf-8";
@import "//cdn.example/x.css";
@import url("https://cdn.example/y.css") print;
@import "data:text/css,.d{}";
@import "./b.css" layer(base) supports(display: grid) screen and (min-width: 1px);
@import url(c);
@import "field";
@import "conditions/theme";
@import "conditions";
@import "plain/dist/plain.css" layer(plain);
.a { background: url(./x.png) }`,
    'b.css': '@import "./a.css"; .b {}',
    'c.css': '.c { color: red }',
    'node_modules/field/package.json': '{"style": "field.css", "main": "index.js"}',
    'node_modules/field/field.css': '.field { color: red }',
    'node_modules/field/index.js': 'throw 1',
    'node_modules/conditions/package.json':
      '{"exports": {".": {"import": "./index.js", "style": "./index.css"}, "./theme": {"style": "./theme.css"}}}',
    'node_modules/conditions/index.css': '.index { color: red }',
    'node_modules/conditions/theme.css': '.theme { color: red }',
    'node_modules/plain/package.json': '{}',
    'node_modules/plain/dist/plain.css': '.plain { color: red }',
  })
  for (const part of [
    '//cdn.example/x.css',
    'https://cdn.example/y.css',
    'data:text/css',
    '.c {',
    '.field',
    '.index',
    '.theme',
    'layer(plain)|@layer plain',
    'url(./x.png)',
    '@layer base',
    '@supports',
    '@media screen',
  ])
    assert.match(css, new RegExp(part.replaceAll(/[.()]/g, '\\$&')), part)
})

test('":global" and ":local" work in CSS modules; a rule without effect is a warning with its position', async (t) => {
  const { classes, css, warnings } = await compile(t, {
    'a.module.css': ':global(.g) .a :local(.b) { color: red }\n.c { content: ":global @apply"; }',
  })
  assert.deepEqual(Object.keys(classes), ['a', 'b', 'c'])
  assert.match(css, /\.g \.a-a \.a-b/)
  assert.deepEqual(warnings, [])
  const plain = await compile(t, { 'a.css': '/* @apply */ .a { color: red }\n.b { @apply p-2; }\n:global(.c) {}' })
  assert.match(plain.warnings.join('\n'), /a\.css:2:6: @apply has no effect.*\n.*a\.css:3:1: ":global" has no effect/)
})

test('imports are bounded, and lead to regular files only', async (t) => {
  const root = tempSite(t, {
    'large.css': '@import "./x.css";',
    'x.css': `.x { color: red }\n${' '.repeat(4 * 1024 * 1024)}`,
    'pipe.css': '@import "./p.css";',
    'link.css': '@import "./l.css";',
    'deep.css': '@import "./d0.css";',
  })
  execFileSync('mkfifo', [join(root, 'p.css')])
  writeFileSync(join(tempDir(t), 'l.css'), '.secret {}')
  symlinkSync(join(tempDir(t), 'l.css'), join(root, 'l.css'))
  for (let at = 0; at < 1_001; at++) writeFileSync(join(root, `d${at}.css`), `@import "./d${at + 1}.css";`)
  const { compiler } = compilerFor(t, root)
  for (const name of ['large', 'pipe', 'link', 'deep'])
    assert.equal((await problemOf(compiler.load(join(root, `${name}.css`)))).code, 'RENDER_RESOLVE', name)
})
