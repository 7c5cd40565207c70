import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

const base = {
  'app/layout.tsx': 'export default ({ children }) => <html><body><h1>shell</h1>{children}</body></html>',
  'app/loading.tsx': 'export default () => <i>loading</i>',
}
/** Ends in a later task than the shell. */
const later = 'await new Promise((r) => setTimeout(r, 0));'
const failing = { 'app/page.tsx': `export default async () => { ${later} throw new Error("late <b>") }` }

test('head and shell go out first, the page when it is there, the end of the document last', async (t) => {
  const site = open(t, { ...base, 'app/page.tsx': `export default async () => { ${later} return <p>page</p> }` })
  const { pieces, status, isWhole } = await site.ask('/', { mayStream: true })
  assert.deepEqual([status, isWhole], [200, false])
  assert.match(
    pieces[0] ?? '',
    /^<!DOCTYPE html><html><head>.*<h1>shell<\/h1><!--\$\?--><template id="B:0"><\/template><i>loading<\/i><!--\/\$-->/,
  )
  assert.doesNotMatch(pieces[0] ?? '', /<p>page/)
  // The last chunk contains the end of the document.
  assert.match(
    pieces[1] ?? '',
    /^<div hidden id="S:0"><p>page<\/p><\/div><script>.*\$RC\("B:0","S:0"\)<\/script><\/body><\/html>$/s,
  )
  assert.equal(pieces.length, 2)
})

test('when the answer is collected nothing shows a fallback', async (t) => {
  const site = open(t, { ...base, 'app/page.tsx': `export default async () => { ${later} return <p>page</p> }` })
  const { body, isWhole } = await site.ask('/', { mayStream: false })
  assert.equal(isWhole, true)
  assert.match(body, /<h1>shell<\/h1><p>page<\/p><\/body>/)
})

test('a page that only needs microtasks is not streamed', async (t) => {
  const site = open(t, {
    ...base,
    'app/page.tsx': 'export default async ({ searchParams }) => { const q = await searchParams; return <p>{q.a}</p> }',
  })
  const { body, isWhole } = await site.ask('/?a=1', { mayStream: true })
  assert.equal(isWhole, true)
  assert.doesNotMatch(body, /loading/)
})

test('parts come in the order in which they are ready', async (t) => {
  const part = (name: string) => `<Suspense fallback="-"><Part name="${name}"/></Suspense>`
  const site = open(t, {
    ...base,
    'app/page.tsx': `import { Suspense } from "react"
const turn = () => new Promise((r) => setTimeout(r, 0))
const first = turn(), second = first.then(turn), third = second.then(turn)
const ready = { first, second, third }
async function Part({ name }) { await ready[name]; return <u>{name}</u> }
export default () => <main>${part('third')}${part('first')}${part('second')}</main>`,
  })
  const { body } = await site.ask('/', { mayStream: true })
  assert.deepEqual(
    [...body.matchAll(/<u>(\w+)<\/u>/g)].map(([, name]) => name),
    ['first', 'second', 'third'],
  )
})

test('an error after the first byte: error.tsx takes the place of the fallback, nothing is left standing', async (t) => {
  const site = open(t, { ...base, ...failing, 'app/error.tsx': 'export default ({ error }) => <p id="e">{error.digest}</p>' })
  const { pieces, body, status, handled } = await site.ask('/', { mayStream: true })
  assert.equal(status, 200)
  assert.match(
    pieces[1] ?? '',
    /<div hidden id="S:B:0"><p id="e">[0-9a-f]{8}<\/p><\/div><script>.*\$SC\("B:0","S:B:0"\)<\/script>/,
  )
  assert.equal(pieces.at(-1), '</body></html>')
  assert.doesNotMatch(body, /\$RX|late <|late &lt;|\0/)
  assert.deepEqual(
    handled.map(({ message }) => message),
    ['late <b>'],
  )
})

test('an error.tsx that fails too leads to the next one outwards, at last to a built-in text', async (t) => {
  const inner = {
    'app/in/loading.tsx': 'export default () => "w"',
    'app/in/error.tsx': 'export default () => { throw new Error("again") }',
  }
  const page = { 'app/in/page.tsx': failing['app/page.tsx'] }
  const outer = { 'app/error.tsx': 'export default () => <p id="outer"/>' }
  const { 'app/loading.tsx': _none, ...rest } = base
  const shown = await open(t, { ...rest, ...inner, ...page, ...outer }).ask('/in', { mayStream: true })
  assert.match(shown.body, /<div hidden id="S:B:0"><p id="outer">/)
  const plain = await open(t, { ...rest, ...inner, ...page }).ask('/in', { mayStream: true })
  assert.match(plain.body, /<div hidden id="S:B:0"><p role="alert">Something went wrong/)
  assert.deepEqual(
    plain.handled.map(({ message }) => message),
    ['late <b>', 'again'],
  )
})

test('a boundary that failed inside a part that comes late is replaced too', async (t) => {
  const site = open(t, {
    ...base,
    'app/error.tsx': 'export default () => <p id="e"/>',
    'app/page.tsx': `import { Suspense } from "react"
const Bad = () => { throw new Error("bad") }
export default async () => { ${later} return <main>before<Suspense fallback={<i>own<b>fallback</b></i>}><Bad/></Suspense>after</main> }`,
  })
  const { body } = await site.ask('/', { mayStream: true })
  assert.match(body, /<main>before<!--\$\?--><template id="E:0"><\/template><!--\/\$-->after<\/main>/)
  assert.match(body, /<div hidden id="S:E:0"><p id="e"><\/p><\/div>/)
  assert.doesNotMatch(body, /own|fallback/)
})

test('notFound() after the first byte shows not-found.tsx and keeps the page out of indexes', async (t) => {
  const site = open(t, {
    ...base,
    'app/not-found.tsx': 'export default () => <p id="nf"/>',
    'app/page.tsx': `import { notFound } from "next/navigation"; export default async () => { ${later} notFound() }`,
  })
  const { body, handled } = await site.ask('/', { mayStream: true })
  assert.match(body, /<meta name="robots" content="noindex"\/><div hidden id="S:B:0"><p id="nf">/)
  assert.deepEqual(handled, [])
})

test('redirect() after the first byte is a meta refresh, its URL escaped', async (t) => {
  const site = open(t, {
    ...base,
    'app/page.tsx': `import { redirect } from "next/navigation"; export default async ({ searchParams }) => { ${later} redirect((await searchParams).to) }`,
  })
  const { body } = await site.ask(`/?to=${encodeURIComponent('/x"><script>alert(1)</script>')}`, { mayStream: true })
  assert.match(
    body,
    /<meta id="__next-page-redirect" http-equiv="refresh" content="1;url=\/x&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;"\/>/,
  )
})

test('many streamed pages at once stay apart', async (t) => {
  const site = open(t, {
    ...base,
    'app/page.tsx': `export default async ({ searchParams }) => { const { n } = await searchParams; for (let turn = n % 9; turn >= 0; turn--) await new Promise((r) => setTimeout(r, 0)); return <p>page {n}</p> }`,
  })
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => site.ask(`/?n=${n}`, { mayStream: true })))
  for (const [n, { body }] of answers.entries()) assert.match(body.replaceAll('<!-- -->', ''), new RegExp(`<p>page ${n}</p>`))
})
