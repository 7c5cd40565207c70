import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { builtinModules } from '@svc/site'
import { tempSite } from '@svc/testkit'
import { compilerFor, problemOf } from '../../compile/test/compile-support.ts'
import { foreignReact } from '../src/scan/foreign-react.ts'
import { HostProcess } from './host-process.ts'

const FOREIGN = 'throw new Error("a foreign copy was run")'
const names = [
  'index.js',
  'jsx-runtime.js',
  'jsx-dev-runtime.js',
  'server.js',
  'server.edge.js',
  'client.js',
  'cjs/react.production.js',
]

/** Packages `react`, `react-dom` and `next` in a directory, whose modules throw when they are run. */
function foreignPackages(dir: string, version = '18.2.0'): Record<string, string> {
  const files = ['react', 'react-dom', 'next'].flatMap((name): [string, string][] => [
    [`${dir}/${name}/package.json`, JSON.stringify({ name, version, main: 'index.js' })],
    ...names.map((file): [string, string] => [`${dir}/${name}/${file}`, FOREIGN]),
    [`${dir}/${name}/link.js`, FOREIGN],
  ])
  return Object.fromEntries(files)
}

const button = (name: string) => `const { createElement } = require("react")
const { jsx } = require("react/jsx-runtime")
const { flushSync } = require("react-dom")
const link = require("next/link.js")
exports.Button = (props) => jsx("button", { children: [createElement("i", { key: 1 }, "${name}", typeof flushSync, typeof link.default), props.text] })`

const files = {
  ...foreignPackages('node_modules'),
  ...foreignPackages('node_modules/buttons/node_modules', '17.0.2'),
  ...foreignPackages('node_modules/.pnpm/linked@1.0.0/node_modules', '19.0.0-rc.1'),
  'node_modules/buttons/package.json': '{"name": "buttons", "version": "1.0.0"}',
  'node_modules/buttons/index.js': button('nested'),
  'node_modules/.pnpm/linked@1.0.0/node_modules/linked/index.js': button('linked'),
  'app/layout.tsx': 'export default ({ children }: { children: unknown }) => <html><body>{children}</body></html>',
  'app/page.tsx': `import * as React from 'react'
import { version as path } from '../node_modules/react/index.js'
import { Button } from 'buttons'
import { Button as Linked } from 'linked'
import { c } from 'react/compiler-runtime'
import { createRoot } from 'react-dom/client'
const Name = React.createContext('nobody')
function Greeting() {
  const [count] = React.useState(3)
  return <p>{React.useContext(Name)} {count}</p>
}
export default () => <Name value="world"><Greeting /><Button text="a" /><Linked text="b" /><u>{String(path === React.version)} {typeof c} {typeof createRoot}</u></Name>`,
  'app/text/route.tsx': `import { renderToReadableStream, renderToStaticMarkup, renderToString } from 'react-dom/server'
import { renderToString as edge } from 'react-dom/server.edge'
import { createRoot } from 'react-dom/client'
import { Suspense } from 'react'
async function Late() { await new Promise((done) => setTimeout(done, 5)); return <i>late é</i> }
export async function GET() {
  const stream = await renderToReadableStream(<main><Suspense fallback="wait"><Late /></Suspense></main>)
  let refused = ''
  try { (createRoot as () => void)() } catch (error) { refused = (error as Error).message }
  return Response.json([renderToStaticMarkup(<b>1</b>), renderToString(<b>2</b>), edge(<b>3</b>), await new Response(stream as never).text(), refused])
}`,
}

test('the React of the server renders a site that has others in its node_modules, and one notice says so', async (t) => {
  const root = tempSite(t, files)
  mkdirSync(dirname(join(root, 'node_modules/linked')), { recursive: true })
  symlinkSync(join(root, 'node_modules/.pnpm/linked@1.0.0/node_modules/linked'), join(root, 'node_modules/linked'))
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const { text } = await host.render('a', '/')
  const body = text.replaceAll('<!-- -->', '')
  assert.match(
    body,
    /<p>world 3<\/p><button><i>nestedfunctionfunction<\/i>a<\/button><button><i>linkedfunctionfunction<\/i>b<\/button>/,
  )
  assert.match(body, /<u>true function function<\/u>/)
  const parts = JSON.parse((await host.render('a', '/text')).text) as string[]
  assert.deepEqual(parts.slice(0, 3), ['<b>1</b>', '<b>2</b>', '<b>3</b>'])
  assert.match(parts[3] ?? '', /<main>.*wait.*<i>late é<\/i>/s)
  assert.match(parts[4] ?? '', /rendered on the server only/)
  await host.changed('a')
  await host.flush('a')
  await host.render('a', '/')
  const { problems } = await host.master.call('survey', { site: 'a' }, { timeoutMs: 60_000 })
  const notice = /React 18\.2\.0 in node_modules\/react is not used: the site is rendered by the server's React \d+\.\d+\.\d+/
  assert.equal(problems.filter(({ severity, text }) => severity === 'warning' && notice.test(text)).length, 1)
})

test('only a React of another version is worth a notice, wherever imports would find it', async (t) => {
  const root = tempSite(t, {
    ...foreignPackages('node_modules'),
    'sites/a/app/page.tsx': '',
    'sites/b/node_modules/react/package.json': '{"version": 7}',
  })
  const own = (await import('react/package.json', { with: { type: 'json' } })).default as { version: string }
  assert.match(foreignReact(join(root, 'sites/a')) ?? '', /React 18\.2\.0 in \.\.\/\.\.\/node_modules\/react is not used/)
  assert.match(foreignReact(join(root, 'sites/b')) ?? '', /18\.2\.0/)
  const same = tempSite(t, { 'node_modules/react/package.json': JSON.stringify(own) })
  assert.equal(foreignReact(same), undefined)
})

const unserved: [specifier: string, hint: RegExp][] = [
  ['next', /there are next\/navigation, next\/headers/],
  ['next/font/google', /next\/link.*a copy of next in node_modules is not used/],
  ['next/dist/client/link.js', /next\/link/],
  ['react-dom/static', /there are react-dom, react-dom\/client/],
  ['svc/nothing', /there are svc\/navigation/],
]

for (const [specifier, hint] of unserved) {
  for (const isInstalled of [true, false]) {
    test(`an import of ${specifier} is an error with its place, ${isInstalled ? 'with' : 'without'} a copy in node_modules`, async (t) => {
      const copies = {
        ...foreignPackages('node_modules'),
        'node_modules/next/font/google/index.js': FOREIGN,
        'node_modules/next/dist/client/link.js': FOREIGN,
      }
      const root = tempSite(t, {
        ...(isInstalled ? copies : {}),
        'app/page.tsx': `/* c */ import x from '${specifier}'\nexport default x`,
      })
      const problem = await problemOf(compilerFor(t, root).compiler.load(join(root, 'app/page.tsx')))
      assert.deepEqual([problem.code, problem.line, problem.column], ['RENDER_RESOLVE', 1, 23])
      assert.ok(problem.message.includes(`page.tsx:1:23: the server has no module "${specifier}"`), problem.message)
      assert.match(problem.hint ?? '', hint)
    })
  }
}

test('helper modules are served under their spellings with .js too, and types of next are no imports', async (t) => {
  const helpers = builtinModules.filter((name) => name.startsWith('next/'))
  const root = tempSite(t, {
    ...foreignPackages('node_modules'),
    'a.tsx': [
      ...helpers.map((name, at) => `import * as m${at} from '${name}.js'`),
      `export default [${helpers.map((_, at) => `m${at}`)}]`,
    ].join('\n'),
    'b.tsx':
      "import type { Metadata } from 'next'\nimport { type Viewport } from 'next'\nexport const a: Metadata & Viewport = {}",
  })
  const { compiler } = compilerFor(t, root)
  const { dependencies } = await compiler.load(join(root, 'a.tsx'))
  assert.deepEqual(dependencies, Object.fromEntries(helpers.map((name) => [`${name}.js`, `builtin:${name}`]).toSorted()))
  assert.deepEqual((await compiler.load(join(root, 'b.tsx'))).dependencies, {})
})

test("a module of the site's own may stand in for one of next", async (t) => {
  const root = tempSite(t, {
    'tsconfig.json': '{"compilerOptions": {"paths": {"next/font/google": ["./shims/font.ts"]}}}',
    'shims/font.ts': 'export const Inter = () => ({ className: "inter" })',
    'app/page.tsx': "import { Inter } from 'next/font/google'\nexport default Inter",
  })
  const { dependencies } = await compilerFor(t, root).compiler.load(join(root, 'app/page.tsx'))
  assert.deepEqual(dependencies, { 'next/font/google': join(root, 'shims/font.ts') })
})
