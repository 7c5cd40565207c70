import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

const layout = `export const metadata = { title: { template: '%s | Site', default: 'Site' } }
export default function Layout({ children }) { return <html lang="en"><body><main>{children}</main></body></html> }`

const head = (title: string, rest = '') =>
  `<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><title>${title}</title>${rest}</head><body><main>`
const foot = '</main></body></html>'

test('a page without pending data is one complete answer', async (t) => {
  const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': 'export default () => <p>Hello & bye</p>' })
  const answer = await site.ask('/', { mayStream: true })
  assert.equal(answer.isWhole, true)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.headers, [['content-type', 'text/html; charset=utf-8']])
  assert.equal(answer.body, `${head('Site')}<p>Hello &amp; bye</p>${foot}`)
  assert.deepEqual(answer.reads, [])
})

test('a page in a site without a root layout gets a minimal document', async (t) => {
  const site = open(t, { 'app/page.tsx': 'export default () => <p>bare</p>' })
  const { body } = await site.ask('/')
  assert.match(body, /^<!DOCTYPE html><html><head><meta charSet="utf-8"\/>.*<\/head><body><p>bare<\/p><\/body><\/html>$/)
})

test('params and searchParams can be awaited, used and read directly', async (t) => {
  const site = open(t, {
    'app/layout.tsx': layout,
    'app/[id]/[...rest]/page.tsx': `import { use } from 'react'
function Used({ params }) { return <i>{use(params).id}</i> }
export default async function Page(props) {
  const { id, rest } = await props.params
  const query = await props.searchParams
  return <p>{id},{rest.join('+')},{props.params.id},{query.a.join('+')},{props.searchParams.b},{Object.keys(props.params).join()}<Used params={props.params}/></p>
}`,
  })
  const { body, reads } = await site.ask('/x%20y/1/2?a=1&a=2&b=%3Cb%3E')
  assert.match(body.replaceAll('<!-- -->', ''), /<p>x y,1\+2,x y,1\+2,&lt;b&gt;,id,rest<i>x y<\/i><\/p>/)
  assert.deepEqual(reads, ['query'])
})

test('a layout gets only the parameters of its own segments', async (t) => {
  const show =
    'export default async function L({ params, children }) { return <div data-p={JSON.stringify(await params)}>{children}</div> }'
  const site = open(t, {
    'app/layout.tsx': layout,
    'app/[a]/layout.tsx': show,
    'app/[a]/[b]/layout.tsx': show,
    'app/[a]/[b]/page.tsx': 'export default () => "page"',
  })
  const { body } = await site.ask('/1/2')
  assert.match(
    body,
    /<div data-p="\{&quot;a&quot;:&quot;1&quot;\}"><div data-p="\{&quot;a&quot;:&quot;1&quot;,&quot;b&quot;:&quot;2&quot;\}">page/,
  )
})

test('parallel slots, default and template are put together', async (t) => {
  const site = open(t, {
    'app/layout.tsx':
      'export default ({ children, side, extra }) => <html><body><b>{side}</b><i>{extra}</i>{children}</body></html>',
    'app/template.tsx': 'export default ({ children }) => <section>{children}</section>',
    'app/@side/page.tsx': 'export default () => "side"',
    'app/@extra/default.tsx': 'export default () => "extra"',
    'app/page.tsx': 'export default () => "page"',
  })
  const { body } = await site.ask('/')
  assert.match(body, /<body><b>side<\/b><i>extra<\/i><section>page<\/section><\/body>/)
})

test('style sheets of the tree go into the head, once', async (t) => {
  const site = open(t, {
    'app/layout.tsx': `import './a.css'\n${layout}`,
    'app/a.css': 'body { color: red }',
    'app/page.tsx': `import './a.css'\nexport default () => "x"`,
  })
  const { body } = await site.ask('/')
  assert.equal(body.split('color: red').length, 2)
  assert.match(body, /<head>.*<style[^>]*>body \{ color: red \}<\/style>.*<\/head>/)
})

test('a path that no route matches shows not-found inside the root layout, 404', async (t) => {
  const site = open(t, {
    'app/layout.tsx': layout,
    'app/page.tsx': 'export default () => "x"',
    'app/not-found.tsx': 'export const metadata = { title: "Gone" }; export default () => <p>nothing here</p>',
  })
  const answer = await site.ask('/nope')
  assert.equal(answer.status, 404)
  assert.equal(answer.body, `${head('Gone | Site', '<meta name="robots" content="noindex"/>')}<p>nothing here</p>${foot}`)
})

test('without not-found.tsx the built-in text is shown', async (t) => {
  const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': 'export default () => "x"' })
  const answer = await site.ask('/nope')
  assert.equal(answer.status, 404)
  assert.match(answer.body, /<main><h1>404<\/h1><p>This page could not be found\.<\/p><\/main>/)
})

test('many requests at once see their own cookies, headers and cached values', async (t) => {
  const site = open(t, {
    'app/layout.tsx': `import { cookies } from 'next/headers'
export default async function L({ children }) { const jar = await cookies(); return <html><body data-c={jar.get('id').value}>{children}</body></html> }`,
    'app/page.tsx': `import { cache, Suspense } from 'react'
import { cookies, headers } from 'svc/headers'
// A turn is a task of the host: the requests of the others run in between.
const turns = async (count) => { for (; count >= 0; count--) await new Promise((r) => setTimeout(r, 0)) }
const load = cache(async (id) => { await turns(Number(id) % 7); return { id, own: cookies().get('id').value } })
async function Part({ id }) { const a = await load(id); const b = await load(id); return <u>{a.id}{a.own}{String(a === b)}</u> }
export default async function Page() {
  const id = (await cookies()).get('id').value
  await turns(Number(id) % 5)
  return <p>{headers().get('x-id')}{(await cookies()).get('id').value}<Suspense><Part id={id}/></Suspense></p>
}`,
  })
  const ids = Array.from({ length: 100 }, (_, index) => String(100 + index))
  const answers = await Promise.all(
    ids.map((id) =>
      site.ask('/', {
        headers: [
          ['cookie', `id=${id}`],
          ['x-id', id],
        ],
        mayStream: Number(id) % 2 === 0,
      }),
    ),
  )
  for (const [index, id] of ids.entries()) {
    const text = answers[index]?.body.replaceAll('<!-- -->', '') ?? ''
    assert.match(text, new RegExp(`data-c="${id}"`))
    assert.match(text, new RegExp(`<p>${id}${id}`))
    assert.match(text, new RegExp(`<u>${id}${id}true</u>`))
    assert.deepEqual(answers[index]?.reads.toSorted(), ['cookies', 'headers'])
  }
})

test('segment config: dynamic, revalidate and static params', async (t) => {
  const page = (config: string) =>
    `${config}\nimport { cookies } from 'next/headers'\nexport default ({ searchParams }) => <p>[{cookies().get('a')?.value}{searchParams.q}]</p>`
  const site = open(t, {
    'app/layout.tsx': `export const revalidate = 60\n${layout}`,
    'app/static/page.tsx': page('export const dynamic = "force-static"; export const revalidate = 90'),
    'app/forced/page.tsx': page('export const dynamic = "force-dynamic"'),
    'app/strict/page.tsx': page('export const dynamic = "error"'),
    'app/wrong/page.tsx': 'export const revalidate = "soon"; export default () => "x"',
    'app/known/[id]/page.tsx':
      'export const dynamicParams = false; export const generateStaticParams = async () => [{ id: "a b" }]; export default ({ params }) => params.id',
  })
  const ask = { headers: [['cookie', 'a=1']] as const }
  const forcedStatic = await site.ask('/static?q=2', ask)
  assert.match(forcedStatic.body, /<p>\[(<!-- -->)?\]<\/p>/)
  assert.deepEqual([forcedStatic.reads, forcedStatic.revalidate], [[], 60])
  const forced = await site.ask('/forced?q=2', ask)
  assert.ok(forced.reads.includes('no-store'))
  assert.equal(forced.revalidate, 0)
  const strict = await site.ask('/strict', ask)
  assert.equal(strict.status, 500)
  assert.match(strict.handled[0]?.message ?? '', /dynamic = "error"/)
  assert.match((await site.ask('/wrong')).failure?.message ?? '', /wrong\/page\.tsx: revalidate must be/)
  assert.equal((await site.ask('/known/a%20b')).status, 200)
  assert.equal((await site.ask('/known/other')).status, 404)
})
