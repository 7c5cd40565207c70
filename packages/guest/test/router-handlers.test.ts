import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Ask, routerSites } from './router-support/router-site.ts'

const open = await routerSites()
const allMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

interface Expected {
  readonly status?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly failure?: RegExp
  readonly reads?: readonly string[]
}

const table: readonly (readonly [name: string, source: string, path: string, ask: Ask, expected: Expected])[] = [
  ['an exception', 'export const GET = () => { throw new Error("x") }', '/', {}, { failure: /^x$/ }],
  ['a rejected promise', 'export const GET = async () => { throw new Error("x") }', '/', {}, { failure: /^x$/ }],
  [
    'no Response',
    'export const GET = async () => ({ a: 1 })',
    '/',
    {},
    { failure: /app\/route\.ts: GET did not return a Response/ },
  ],
  ['a module that throws', 'throw new Error("load")', '/', {}, { failure: /load/ }],
  [
    'a body of text pieces',
    'export const GET = () => new Response(new ReadableStream({ start(c) { c.enqueue("text"); c.close() } }))',
    '/',
    {},
    { failure: /bytes/ },
  ],
  [
    'a body that fails at once',
    'export const GET = () => new Response(new ReadableStream({ start(c) { c.error(new Error("broken")) } }))',
    '/',
    {},
    { failure: /broken/ },
  ],
  [
    'a method that is not there',
    'export const GET = () => new Response("x")',
    '/',
    { method: 'POST' },
    { status: 405, body: '', headers: { allow: 'GET, HEAD, OPTIONS' } },
  ],
  [
    'a route without any handler',
    'export const get = () => new Response("x")',
    '/',
    {},
    { failure: /route\.ts: there is no handler\. Export a function named GET/ },
  ],
  [
    'an unknown method',
    'export const GET = () => new Response("x")',
    '/',
    { method: 'BREW' },
    { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } },
  ],
  [
    'derived OPTIONS',
    'export const POST = () => new Response("x")',
    '/',
    { method: 'OPTIONS' },
    { status: 204, body: '', headers: { allow: 'POST, OPTIONS' } },
  ],
  ['own OPTIONS', 'export const OPTIONS = () => new Response("own")', '/', { method: 'OPTIONS' }, { status: 200, body: 'own' }],
  [
    'derived HEAD',
    'export const GET = () => new Response("x", { status: 201, headers: { a: "b" } })',
    '/',
    { method: 'HEAD' },
    { status: 201, body: '', headers: { a: 'b' } },
  ],
  [
    'own HEAD',
    'export const HEAD = () => new Response(null, { headers: { own: "1" } })',
    '/',
    { method: 'HEAD' },
    { status: 200, headers: { own: '1' } },
  ],
  [
    'text',
    'export const GET = () => new Response("täxt")',
    '/',
    {},
    { status: 200, body: 'täxt', headers: { 'content-type': 'text/plain;charset=UTF-8' }, reads: [] },
  ],
  [
    'json',
    'export const GET = () => Response.json({ a: [1] }, { status: 202 })',
    '/',
    {},
    { status: 202, body: '{"a":[1]}', headers: { 'content-type': 'application/json' } },
  ],
  ['bytes', 'export const GET = () => new Response(new Uint8Array([72, 105]))', '/', {}, { status: 200, body: 'Hi' }],
  [
    'a stream of bytes',
    'export const GET = () => new Response(new ReadableStream({ async pull(c) { c.enqueue(new Uint8Array([65])); c.close() } }))',
    '/',
    {},
    { status: 200, body: 'A' },
  ],
  ['no body', 'export const GET = () => new Response(null, { status: 204 })', '/', {}, { status: 204, body: '' }],
  [
    'a request body',
    'export const POST = async (request) => new Response((await request.json()).a)',
    '/',
    { method: 'POST', body: '{"a":"b"}' },
    { status: 200, body: 'b', reads: [] },
  ],
  [
    'params, awaited and direct',
    'export const GET = async (request, { params }) => new Response((await params).id + params.id)',
    '/7',
    {},
    { status: 200, body: '77' },
  ],
  [
    'redirect()',
    'import { redirect } from "next/navigation"; export const GET = () => redirect("/to")',
    '/',
    {},
    { status: 307, headers: { location: '/to' } },
  ],
  [
    'permanentRedirect()',
    'import { permanentRedirect } from "next/navigation"; export const GET = () => permanentRedirect("/to")',
    '/',
    {},
    { status: 308 },
  ],
  [
    'notFound()',
    'import { notFound } from "svc/navigation"; export const GET = () => notFound()',
    '/',
    {},
    { status: 404, body: '' },
  ],
  [
    'reading the path reads nothing',
    'export const GET = (request) => new Response(request.nextUrl.pathname)',
    '/',
    {},
    { body: '/', reads: [] },
  ],
  [
    'reading the query',
    'export const GET = (request) => new Response(request.nextUrl.searchParams.get("a"))',
    '/?a=b',
    {},
    { body: 'b', reads: ['query'] },
  ],
  [
    'reading the url',
    'export const GET = (request) => new Response(request.url)',
    '/?a=b',
    {},
    { body: 'http://site.test/?a=b', reads: ['host', 'query'] },
  ],
  [
    'reading fields and cookies',
    'export const GET = (request) => new Response(request.headers.get("x") + request.cookies.get("c").value)',
    '/',
    {
      headers: [
        ['x', '1'],
        ['cookie', 'c=%41'],
      ],
    },
    { body: '1A', reads: ['headers', 'cookies'] },
  ],
  [
    'changing nextUrl',
    'export const GET = (request) => { const url = request.nextUrl; url.pathname = "/new"; url.searchParams.set("x", "1"); return new Response(String(url)) }',
    '/',
    {},
    { body: 'http://site.test/new?x=1' },
  ],
  [
    'force-static',
    'export const dynamic = "force-static"; export const GET = (request) => new Response(request.url + request.headers.get("x"))',
    '/?a=b',
    { headers: [['x', '1']] },
    { body: 'http://site.test/null', reads: [] },
  ],
]

for (const [name, source, path, ask, expected] of table) {
  test(`handler: ${name}`, async (t) => {
    const site = open(t, { [path === '/7' ? 'app/[id]/route.ts' : 'app/route.ts']: source })
    const answer = await site.ask(path, ask)
    if (expected.failure !== undefined) assert.match(answer.failure?.message ?? 'no failure', expected.failure)
    else assert.equal(answer.failure, undefined)
    if (expected.status !== undefined) assert.equal(answer.status, expected.status)
    if (expected.body !== undefined) assert.equal(answer.body, expected.body)
    if (expected.reads !== undefined) assert.deepEqual(answer.reads, expected.reads)
    for (const [field, value] of Object.entries(expected.headers ?? {})) {
      assert.equal(answer.headers.find(([key]) => key === field)?.[1], value)
    }
  })
}

test('all seven methods are listed when they are there', async (t) => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
  const site = open(t, {
    'app/route.ts': methods.map((method) => `export const ${method} = () => new Response("${method}")`).join('\n'),
  })
  for (const method of methods) assert.equal((await site.ask('/', { method })).body, method)
  assert.deepEqual((await site.ask('/', { method: 'OPTIONS' })).headers, [['allow', allMethods]])
})

test('cookies that are set go out beside those of the response, and are seen by later reads', async (t) => {
  const site = open(t, {
    'app/route.ts': `import { cookies } from 'next/headers'
export async function POST() {
  const jar = await cookies()
  jar.set('a', 'x;y', { httpOnly: true, maxAge: 5, sameSite: 'lax' })
  cookies().delete('old')
  return new Response([jar.get('a').value, jar.has('old'), jar.get('kept').value].join(), { headers: { 'set-cookie': 'own=1' } })
}`,
  })
  const { body, headers } = await site.ask('/', { method: 'POST', headers: [['cookie', 'old=1; kept=2']] })
  assert.equal(body, 'x;y,false,2')
  assert.deepEqual(
    headers.filter(([name]) => name === 'set-cookie').map(([, value]) => value),
    ['own=1', 'a=x%3By; Path=/; Max-Age=5; HttpOnly; SameSite=lax', 'old=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
  )
})

test('only an explicit revalidate makes a handler cacheable', async (t) => {
  const source = 'export const GET = () => new Response("x")'
  assert.equal((await open(t, { 'app/route.ts': source }).ask('/')).revalidate, 0)
  assert.equal((await open(t, { 'app/route.ts': `${source}; export const revalidate = 60` }).ask('/')).revalidate, 60)
})

const verdicts: readonly (readonly [name: string, source: string, verdict: object | undefined, status: number])[] = [
  ['nothing', 'export function middleware() {}', { action: 'next' }, 0],
  ['next()', 'export default () => NextResponse.next()', { action: 'next' }, 0],
  [
    'next with response fields',
    'export default () => { const r = NextResponse.next({ headers: { "x-r": "1" } }); r.cookies.set("k", "v"); return r }',
    {
      action: 'next',
      responseHeaders: [
        ['set-cookie', 'k=v; Path=/'],
        ['x-r', '1'],
      ],
    },
    0,
  ],
  [
    'next with request fields',
    'export default (request) => { const headers = new Headers(request.headers); headers.set("x-a", "1"); headers.delete("b"); return NextResponse.next({ request: { headers } }) }',
    {
      action: 'next',
      requestHeaders: [
        ['c', '3'],
        ['x-a', '1'],
      ],
    },
    0,
  ],
  [
    'rewrite',
    'export default (request) => { const url = request.nextUrl.clone(); url.pathname = "/new"; return NextResponse.rewrite(url) }',
    { action: 'rewrite', url: 'http://site.test/new?q=1' },
    0,
  ],
  ['redirect', 'export default (request) => NextResponse.redirect(new URL("/login", request.url), 303)', undefined, 303],
  ['a response', 'export default () => NextResponse.json({ a: 1 }, { status: 401 })', undefined, 401],
  ['redirect() thrown', 'import { redirect } from "next/navigation"; export default () => redirect("/to")', undefined, 307],
]

for (const [name, source, verdict, status] of verdicts) {
  test(`middleware: ${name}`, async (t) => {
    const site = open(t, { 'app/page.tsx': '', 'middleware.ts': `import { NextResponse } from 'next/server'\n${source}` })
    const answer = await site.ask('/a?q=1', {
      kind: 'middleware',
      headers: [
        ['b', '2'],
        ['c', '3'],
      ],
    })
    assert.equal(answer.failure, undefined)
    assert.deepEqual(answer.verdict, verdict)
    assert.equal(answer.status, status)
  })
}

test('middleware that throws, or answers with something else, fails with its file', async (t) => {
  for (const source of ['export default () => { throw new Error("x") }', 'export default () => 5', 'export const config = {}']) {
    const answer = await open(t, { 'app/page.tsx': '', 'middleware.ts': source }).ask('/', { kind: 'middleware' })
    assert.match(`${answer.failure?.where} ${answer.failure?.message}`, /middleware\.ts/)
  }
})

test('middleware that looks at the path only reads nothing of the request', async (t) => {
  const source = 'export default (request) => { if (request.nextUrl.pathname === "/x") return new Response("x") }'
  const answer = await open(t, { 'app/page.tsx': '', 'middleware.ts': source }).ask('/a?q=1', { kind: 'middleware' })
  assert.deepEqual(answer.reads, [])
})
