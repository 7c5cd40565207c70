import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type OpenSite, routerSites } from './router-support/router-site.ts'

let open: OpenSite
before(async () => {
  open = await routerSites()
})

const layout = 'export default ({ children }) => <html><body>{children}</body></html>'
const child = 'const Child = ({ query }) => <i>{typeof query}</i>; const Reader = async ({ query }) => <i>{(await query).q}</i>\n'

/** Pages that have the query within reach and leave it alone. */
const unread: Record<string, string> = {
  'named in the signature': 'export default ({ params, searchParams }) => <p>x</p>',
  'named by an async page': 'export default async function Page({ params, searchParams }) { return <p>{(await params).id}</p> }',
  'kept in a variable': 'export default (props) => { const kept = props.searchParams; return <p>{typeof kept}</p> }',
  'passed on, and not read there': `${child}export default ({ searchParams }) => <Child query={searchParams} />`,
  'props that are spread': `${child}export default (props) => { const { searchParams, ...rest } = { ...props }; return <Child query={searchParams} {...rest} /> }`,
  'looked at for its class':
    'export default ({ searchParams }) => <p>{String(searchParams instanceof Promise)}{Object.prototype.toString.call(searchParams)}</p>',
  'named by generateMetadata':
    'export const generateMetadata = ({ params, searchParams }) => ({ title: "t" }); export default () => <p>x</p>',
  'in a function that does not run':
    'export default ({ searchParams }) => { const later = async () => (await searchParams).q; return <p>{typeof later}</p> }',
}

const read: Record<string, string> = {
  await: 'export default async ({ searchParams }) => <p>{(await searchParams).q}</p>',
  'await whose result is not looked at': 'export default async ({ searchParams }) => { await searchParams; return <p>1</p> }',
  then: 'export default async ({ searchParams }) => { const q = await new Promise((done) => searchParams.then(({ q }) => done(q))); return <p>{q}</p> }',
  catch: 'export default async ({ searchParams }) => { const q = await searchParams.catch(() => ({})); return <p>{q.q}</p> }',
  'Promise.all':
    'export default async ({ params, searchParams }) => { const [a, b] = await Promise.all([params, searchParams]); return <p>{b.q}</p> }',
  'use()': 'import { use } from "react"; export default ({ searchParams }) => <p>{use(searchParams).q}</p>',
  'a property': 'export default ({ searchParams }) => <p>{searchParams.q}</p>',
  'a property that is not there': 'export default ({ searchParams }) => <p>{String(searchParams.none)}1</p>',
  in: 'export default ({ searchParams }) => <p>{String("q" in searchParams)}1</p>',
  'Object.keys': 'export default ({ searchParams }) => <p>{Object.keys(searchParams).join()}1</p>',
  'Object.hasOwn': 'export default ({ searchParams }) => <p>{String(Object.hasOwn(searchParams, "q"))}1</p>',
  'a spread': 'export default ({ searchParams }) => <p>{{ ...searchParams }.q}</p>',
  'a rest pattern': 'export default ({ searchParams: { none, ...rest } }) => <p>{rest.q}</p>',
  JSON: 'export default ({ searchParams }) => <p>{JSON.stringify(searchParams)}</p>',
  'for in':
    'export default ({ searchParams }) => { const names = []; for (const name in searchParams) names.push(name); return <p>{names.join()}1</p> }',
  'a child component': `${child}export default ({ searchParams }) => <Reader query={searchParams} />`,
  generateMetadata:
    'export const generateMetadata = async ({ searchParams }) => ({ title: (await searchParams).q }); export default () => <p>x</p>',
  'useSearchParams()':
    'import { useSearchParams } from "next/navigation"; export default () => <p>{useSearchParams().get("q")}</p>',
}

for (const [what, pages, reads] of [
  ['is no read', unread, []],
  ['is a read', read, ['query']],
] as const) {
  test(`of the query, each of these ${what}`, async (t) => {
    const names = Object.keys(pages)
    const files = names.map((name, at) => [`app/p${at}/[id]/page.tsx`, pages[name] ?? ''])
    const site = open(t, { 'app/layout.tsx': layout, ...Object.fromEntries(files) })
    for (const [at, name] of names.entries()) {
      for (const mayStream of [false, true]) {
        const answer = await site.ask(`/p${at}/7?q=1`, { mayStream })
        assert.equal(answer.failure, undefined, name)
        assert.deepEqual(answer.reads, reads, name)
        if (reads.length > 0) assert.match(answer.body, /1/, name)
      }
    }
  })
}

test('the promise of the query can be read in every way at once, and again', async (t) => {
  const page = `import { use } from 'react'
export default async function Page(props) {
  const { searchParams } = props
  const awaited = await searchParams
  const facts = [searchParams.a, Object.keys(searchParams), awaited === (await searchParams), JSON.stringify({ ...searchParams }), awaited.constructor + awaited.then, 'a' in searchParams, 'z' in searchParams, await searchParams.finally(() => 1) === awaited]
  return <p>{JSON.stringify(facts)}</p>
}`
  const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': page })
  const { body } = await site.ask('/?a=1&a=2&then=3&constructor=4')
  const text = body.replaceAll('&quot;', '"').replace(/.*<p>|<\/p>.*/gs, '')
  const whole = JSON.stringify({ a: ['1', '2'] })
  assert.deepEqual(JSON.parse(text), [['1', '2'], ['a'], true, whole, '43', true, false, true])
})

test('a read inside of unstable_cache is refused, also after the page has read the query itself', async (t) => {
  const page = `import { unstable_cache } from 'next/cache'
export default async function Page({ searchParams }) {
  await searchParams
  const cached = unstable_cache(async () => (await searchParams).q, ['key'])
  return <p>{await cached().catch((error) => error.message)}</p>
}`
  const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': page })
  assert.match((await site.ask('/?q=secret')).body, /searchParams was used inside unstable_cache/)
})

test('with dynamic = "error" only a read of the query fails, and with force-static it is empty', async (t) => {
  const site = open(t, {
    'app/layout.tsx': layout,
    'app/named/page.tsx': 'export const dynamic = "error"; export default ({ searchParams }) => <p>fine</p>',
    'app/read/page.tsx':
      'export const dynamic = "error"; export default async ({ searchParams }) => <p>{(await searchParams).q}</p>',
    'app/static/page.tsx':
      'export const dynamic = "force-static"; export default async ({ searchParams }) => <p>[{(await searchParams).q}]</p>',
  })
  assert.match((await site.ask('/named?q=1')).body, /fine/)
  assert.match((await site.ask('/read?q=1')).handled[0]?.message ?? '', /searchParams was used/)
  const fixed = await site.ask('/static?q=1')
  assert.match(fixed.body, /\[\]|\[<!-- -->\]/)
  assert.deepEqual(fixed.reads, [])
})
