import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterAnswer } from './router-support/router-answer.ts'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

const base = {
  'app/layout.tsx': 'export default ({ children }) => <html><body><header/>{children}</body></html>',
  'app/error.tsx':
    '"use client"; export default ({ error, reset }) => <div id="root-error">{error.message}|{error.digest}<a href={reset.href}>again</a></div>',
  'app/not-found.tsx': 'export default () => <div id="root-nf"/>',
  'app/in/layout.tsx': 'export default ({ children }) => <section>{children}</section>',
  'app/in/error.tsx': 'export default ({ error }) => <div id="in-error">{error.digest}</div>',
  'app/in/not-found.tsx': 'export default () => <div id="in-nf"/>',
}
const later = 'await new Promise((r) => setTimeout(r, 0));'
const nav = 'import { forbidden, notFound, permanentRedirect, redirect } from "next/navigation"\n'

/** Part of the error matrix that applies to a page at /in. */
interface Expected {
  readonly status: number
  readonly body?: RegExp
  readonly absent?: RegExp
  readonly location?: string
}

const cases: readonly (readonly [name: string, files: Record<string, string>, expected: Expected])[] = [
  [
    'a throwing page',
    { 'app/in/page.tsx': 'export default () => { throw new Error("x") }' },
    { status: 500, body: /<header><\/header><section><div id="in-error">/ },
  ],
  [
    'an async throwing page',
    { 'app/in/page.tsx': `export default async () => { ${later} throw new Error("x") }` },
    { status: 500, body: /<section><div id="in-error">/ },
  ],
  [
    'a thrown string',
    { 'app/in/page.tsx': 'export default () => { throw "text" }' },
    { status: 500, body: /<section><div id="in-error">/ },
  ],
  [
    'a page module that throws when it is loaded',
    { 'app/in/page.tsx': 'throw new Error("load")' },
    { status: 500, body: /<section><div id="in-error">/ },
  ],
  [
    'a page without a component',
    { 'app/in/page.tsx': 'export default 5' },
    { status: 500, body: /<section><div id="in-error">/ },
  ],
  [
    'a layout that throws: the boundary outside of it',
    { 'app/in/page.tsx': 'export default () => "p"', 'app/in/layout.tsx': 'export default () => { throw new Error("x") }' },
    { status: 500, body: /<header><\/header><div id="root-error">/, absent: /in-error/ },
  ],
  [
    'an error.tsx that throws: the next one outwards',
    {
      'app/in/page.tsx': 'export default () => { throw new Error("x") }',
      'app/in/error.tsx': 'export default () => { throw new Error("y") }',
    },
    { status: 500, body: /<div id="root-error">/ },
  ],
  [
    'a root layout that throws: global-error',
    {
      'app/in/page.tsx': 'export default () => "p"',
      'app/layout.tsx': 'export default () => { throw new Error("x") }',
      'app/global-error.tsx':
        'export default ({ error }) => <html><body id="global">{error.message.length > 20 && "generic"}</body></html>',
    },
    { status: 500, body: /^<!DOCTYPE html><html>.*<body id="global">generic/ },
  ],
  [
    'a global-error that throws: the built-in page',
    {
      'app/in/page.tsx': 'export default () => "p"',
      'app/layout.tsx': 'export default () => { throw new Error("secret") }',
      'app/global-error.tsx': 'export default () => { throw new Error("also") }',
    },
    { status: 500, body: /Internal Server Error/, absent: /secret|also/ },
  ],
  [
    'an error in a Suspense of the page',
    {
      'app/in/page.tsx': `import { Suspense } from "react"; async function Part() { ${later} throw new Error("x") } export default () => <Suspense fallback="wait"><Part/></Suspense>`,
    },
    { status: 500, body: /in-error/, absent: /wait/ },
  ],
  [
    'an error below a loading boundary',
    { 'app/in/loading.tsx': 'export default () => "wait"', 'app/in/page.tsx': 'export default () => { throw new Error("x") }' },
    { status: 500, body: /in-error/, absent: /wait/ },
  ],
  [
    'notFound()',
    { 'app/in/page.tsx': `${nav}export default () => notFound()` },
    { status: 404, body: /noindex.*<section><div id="in-nf">/ },
  ],
  [
    'notFound() in a layout: the one outside',
    { 'app/in/page.tsx': 'export default () => "p"', 'app/in/layout.tsx': `${nav}export default () => notFound()` },
    { status: 404, body: /<div id="root-nf">/ },
  ],
  [
    'notFound() in generateMetadata',
    { 'app/in/page.tsx': `${nav}export const generateMetadata = async () => notFound(); export default () => "p"` },
    { status: 404, body: /<div id="in-nf">/ },
  ],
  [
    'an error in generateMetadata',
    { 'app/in/page.tsx': 'export const generateMetadata = async () => { throw new Error("x") }; export default () => "p"' },
    { status: 500, body: /in-error/ },
  ],
  ['forbidden()', { 'app/in/page.tsx': `${nav}export default () => forbidden()` }, { status: 403, body: /<h1>403<\/h1>/ }],
  [
    'redirect()',
    { 'app/in/page.tsx': `${nav}export default async () => { ${later} redirect("/a;b?c=1") }` },
    { status: 307, location: '/a;b?c=1' },
  ],
  [
    'permanentRedirect() in a layout',
    { 'app/in/page.tsx': 'export default () => "p"', 'app/in/layout.tsx': `${nav}export default () => permanentRedirect("/x")` },
    { status: 308, location: '/x' },
  ],
  [
    'a redirect target with a line break',
    { 'app/in/page.tsx': `${nav}export default () => redirect("/a\\r\\nset-cookie: x=1")` },
    { status: 307, location: '/a%0D%0Aset-cookie:%20x=1' },
  ],
  [
    'errors in two slots',
    {
      'app/in/page.tsx': 'export default () => { throw new Error("x") }',
      'app/in/layout.tsx': 'export default ({ children, s }) => <section>{s}{children}</section>',
      'app/in/@s/page.tsx': 'export default () => { throw new Error("s") }',
      'app/in/@s/error.tsx': 'export default () => <b id="slot-error"/>',
    },
    { status: 500, body: /<section><b id="slot-error"><\/b><div id="in-error">/ },
  ],
]

for (const mayStream of [false, true]) {
  for (const [name, files, expected] of cases) {
    test(`before the first byte (${mayStream ? 'streamed' : 'collected'}): ${name}`, async (t) => {
      const slow =
        mayStream && /later|setTimeout/.test(files['app/in/page.tsx'] ?? '') && /Suspense/.test(files['app/in/page.tsx'] ?? '')
      const answer = await open(t, { ...base, ...files }).ask('/in', { mayStream })
      if (slow) {
        assert.equal(answer.status, 200)
        assert.match(answer.body, /wait.*in-error/s)
        return
      }
      check(answer, expected)
    })
  }
}

function check(answer: RouterAnswer, expected: Expected): void {
  assert.equal(answer.failure, undefined)
  assert.equal(answer.status, expected.status)
  assert.equal(answer.isWhole, true)
  if (expected.body !== undefined) assert.match(answer.body, expected.body)
  if (expected.absent !== undefined) assert.doesNotMatch(answer.body, expected.absent)
  assert.equal(answer.headers.find(([name]) => name === 'location')?.[1], expected.location)
  assert.doesNotMatch(answer.body, /\0|<!--\$!-->/)
}

test('in production a message stays inside and the digest leads to the log', async (t) => {
  const site = open(t, { ...base, 'app/page.tsx': 'export default () => { throw new Error("password is 1234") }' })
  const answer = await site.ask('/?a=%22')
  assert.doesNotMatch(answer.body, /1234/)
  assert.match(answer.body, /\|(<!-- -->)?[0-9a-f]{8}(<!-- -->)?<a href="\/\?a=%22">/)
  assert.deepEqual(
    answer.handled.map(({ message }) => message),
    ['password is 1234'],
  )
})

test('in development error.tsx gets the real error, and without one the request fails with it', async (t) => {
  const page = { 'app/page.tsx': 'export default () => { throw new Error("real") }' }
  const shown = await open(t, { ...base, ...page }, { mode: 'development' }).ask('/')
  assert.match(shown.body, /<div id="root-error">real/)
  const { 'app/error.tsx': _none, ...rest } = base
  const failed = await open(t, { ...rest, ...page }, { mode: 'development' }).ask('/')
  assert.equal(failed.failure?.message, 'real')
})

test('building the page again does not repeat what is cached for the request', async (t) => {
  const site = open(t, {
    ...base,
    'app/count.ts': 'import { cache } from "react"; let n = 0; export const next = cache(() => ++n)',
    'app/layout.tsx':
      'import { next } from "./count.ts"; export default ({ children }) => <html><body data-n={next()}>{children}</body></html>',
    'app/page.tsx': 'export default () => { throw new Error("x") }',
  })
  assert.match((await site.ask('/')).body, /data-n="1"/)
  assert.match((await site.ask('/')).body, /data-n="2"/)
})

test('a page without a default export and one whose default export is not a component have distinct errors', async (t) => {
  const files = {
    'app/layout.tsx': base['app/layout.tsx'],
    'app/none/page.tsx': 'export const Page = () => null',
    'app/number/page.tsx': 'export default 7',
  }
  const site = open(t, files, { mode: 'development' })
  assert.match((await site.ask('/none')).failure?.message ?? '', /none\/page\.tsx: there is no default export\./)
  assert.match((await site.ask('/number')).failure?.message ?? '', /the default export is not a React component\./)
})

test('a polluted Object.prototype turns no error into a redirect', async (t) => {
  const site = open(t, {
    'app/pollute/route.ts': `export const POST = async (request) => {
  for (const [name, value] of Object.entries(await request.json())) Object.prototype[name] = value
  return new Response('polluted')
}`,
    'app/fails/route.ts': 'export const GET = () => { throw new Error("own error") }',
  })
  const body = JSON.stringify({ digest: 'NEXT_REDIRECT;replace;https://elsewhere.test/;307;' })
  assert.equal((await site.ask('/pollute', { method: 'POST', body })).body, 'polluted')
  const { status, failure } = await site.ask('/fails')
  assert.deepEqual([status, failure?.message], [0, 'own error'])
})
