import assert from 'node:assert/strict'
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempSite } from '@svc/testkit'
import { HostProcess, type Rendered } from './host-process.ts'

function packageDir(name: string): string {
  return dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
}

/**
 * Gives a site a React of its own: the packages that are installed here, under another version, so that they count as a
 * second copy, and with a mark by which a page can tell that it got this one.
 */
function installReact(root: string, version = '19.3.1-own.1'): void {
  for (const name of ['react', 'react-dom', 'scheduler']) {
    const target = join(root, 'node_modules', name)
    cpSync(packageDir(name), target, { recursive: true })
    const file = join(target, 'package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify({ ...manifest, version }))
  }
  for (const kind of ['production', 'development']) {
    appendFileSync(join(root, `node_modules/react/cjs/react.${kind}.js`), '\nexports.copy = "own"\n')
  }
}

const layout = `export const metadata = { title: 'Own' }
export default ({ children }: { children: unknown }) => <html lang="en"><body><h1>shell</h1>{children}</body></html>`

const files = {
  'app/layout.tsx': layout,
  'app/page.tsx': `import * as React from 'react'
import { createContext, useContext, useId, useState } from 'react'
import Link from 'svc/link'
const Name = createContext('nobody')
function Greeting() {
  const [count] = useState(3)
  return <p id={useId()}>hello {useContext(Name)} {count}</p>
}
export default function Page() {
  return <Name value="world"><u>{String((React as { copy?: string }).copy)}</u><Greeting /><Link href="/next">next</Link></Name>
}`,
  'app/late/page.tsx': `import { Suspense } from 'react'
async function Part({ name, ms }: { name: string; ms: number }) {
  await new Promise((done) => setTimeout(done, ms))
  return <u>{name} é ☃</u>
}
export default () => <main><Suspense fallback={<i>wait</i>}><Part name="first" ms={5} /></Suspense><Suspense fallback={<i>wait</i>}><Part name="second" ms={30} /></Suspense></main>`,
  'app/loading/page.tsx': `export default async function Page() {
  await new Promise((done) => setTimeout(done, 5))
  return <p>loaded</p>
}`,
  'app/loading/loading.tsx': 'export default () => <i>loading</i>',
  'app/broken/page.tsx': 'export default function Page() { throw new Error("broken page") }',
  'app/broken/error.tsx': 'export default ({ error }: { error: Error }) => <p>caught {error.message}</p>',
  'app/partly/page.tsx': `import { Suspense } from 'react'
async function Part() { await null; throw new Error('broken part') }
export default () => <main><b>whole</b><Suspense fallback={<i>instead</i>}><Part /></Suspense></main>`,
  'app/gone/page.tsx': "import { notFound } from 'svc/navigation'\nexport default function Page() { notFound() }",
  'app/moved/page.tsx': "import { redirect } from 'svc/navigation'\nexport default function Page() { redirect('/') }",
  'app/not-found.tsx': 'export default () => <p>nothing here</p>',
  'app/cached/page.tsx': `import { cache } from 'react'
let calls = 0
const count = cache(async () => ++calls)
async function One() { return <b>{await count()}</b> }
export default () => <main><One /><One /></main>`,
  'app/mark/route.ts': `import * as React from 'react'
export const GET = () => new Response(String((React as { copy?: string }).copy))`,
  'app/big/page.tsx': 'export default () => <ul>{Array.from({ length: 20_000 }, (_, i) => <li key={i}>row {i} é</li>)}</ul>',
}

async function start(t: TestContext, mode: 'production' | 'development' = 'production'): Promise<HostProcess> {
  const root = tempSite(t, files)
  installReact(root)
  const plain = tempSite(t, files)
  return await HostProcess.start(t, {
    render: { timeout_ms: 20_000, memory_limit_mb: 128 },
    sites: [
      { id: 'own', root, mode },
      { id: 'plain', root: plain, mode },
    ],
  })
}

/** Streams a page; its pieces as text. */
async function streamed(host: HostProcess, site: string, path: string): Promise<string[]> {
  const pieces: string[] = []
  const call = host.worker.open('render', await host.request(site, path, { mayStream: true }), {
    timeoutMs: 30_000,
    onChunk: (_head, bytes, ack) => {
      if (bytes !== undefined && bytes.byteLength > 0) pieces.push(Buffer.from(bytes).toString())
      ack()
    },
  })
  const { bytes } = await call.reply
  // The last piece may come with the end.
  if (bytes !== undefined && bytes.byteLength > 0) pieces.push(Buffer.from(bytes).toString())
  return pieces
}

const bodyOf = ({ text }: Pick<Rendered, 'text'>) => text.replaceAll('<!-- -->', '')

test('a site with a React of its own is rendered by it, and its neighbour by the one of the service', async (t) => {
  const host = await start(t)
  const own = bodyOf(await host.render('own', '/'))
  assert.match(own, /^<!DOCTYPE html><html lang="en"><head>.*<title>Own<\/title>.*<h1>shell<\/h1><u>own<\/u>/s)
  assert.match(own, /<p id="[^"]+">hello world 3<\/p><a href="\/next">next<\/a><\/body><\/html>$/)
  const plain = bodyOf(await host.render('plain', '/'))
  assert.match(plain, /<u>undefined<\/u><p id="[^"]+">hello world 3<\/p>/)
})

test('pages of both Reacts are the same but for what tells them apart', async (t) => {
  const host = await start(t)
  for (const path of ['/late', '/loading', '/broken', '/partly', '/cached', '/none', '/gone']) {
    const [own, plain] = await Promise.all(['own', 'plain'].map((site) => host.render(site, path)))
    const known = (page: Rendered | undefined) => bodyOf(page ?? { text: '' }).replace(/[0-9a-f]{8,}/g, 'digest')
    assert.equal(own?.status, plain?.status, path)
    assert.equal(known(own), known(plain), path)
  }
  assert.match(bodyOf(await host.render('own', '/cached')), /<b>(\d+)<\/b><b>\1<\/b>/)
  assert.match(bodyOf(await host.render('own', '/broken')), /caught/)
  assert.match(bodyOf(await host.render('own', '/none')), /nothing here/)
  const moved = await host.render('own', '/moved')
  assert.deepEqual([moved.status, moved.body.head?.headers.find(([name]) => name === 'location')?.[1]], [307, '/'])
})

test('handlers, and modules that are run ahead of requests, find the own React as pages do', async (t) => {
  const host = await start(t)
  for (const site of ['own', 'plain']) {
    assert.equal((await host.render(site, '/mark')).text, site === 'own' ? 'own' : 'undefined')
    await host.render(site, '/cached')
    assert.equal(await host.flush(site), 1)
    // Its module was evaluated before this request, and so was its call of React's cache.
    assert.match(bodyOf(await host.render(site, '/cached')), /<b>1<\/b><b>1<\/b>/, site)
    assert.equal((await host.render(site, '/mark')).text, site === 'own' ? 'own' : 'undefined')
  }
})

test('what waits is streamed piece by piece, complete and in order', async (t) => {
  const host = await start(t)
  const pieces = await streamed(host, 'own', '/late')
  assert.ok(pieces.length >= 2, `${pieces.length} pieces`)
  assert.match(pieces[0] ?? '', /<h1>shell<\/h1><main>.*<i>wait<\/i>.*<i>wait<\/i>/s)
  const whole = pieces.join('')
  assert.deepEqual(
    [...whole.replaceAll('<!-- -->', '').matchAll(/<u>(\w+) é ☃<\/u>/g)].map(([, name]) => name),
    ['first', 'second'],
  )
  assert.match(whole, /<\/body><\/html>$/)
  const loading = await streamed(host, 'own', '/loading')
  assert.match(loading[0] ?? '', /<i>loading<\/i>/)
  assert.match(loading.join(''), /<p>loaded<\/p>/)
})

test('a large page arrives whole, and requests that overlap keep to themselves', async (t) => {
  const host = await start(t)
  const [big, ...others] = await Promise.all(['/big', '/late', '/', '/cached'].map((path) => host.render('own', path)))
  assert.equal(bodyOf(big ?? { text: '' }).match(/<li>row \d+ é<\/li>/g)?.length, 20_000)
  for (const page of others) assert.equal(page.status, 200)
})

test('in development the own React renders too', async (t) => {
  const host = await start(t, 'development')
  assert.match(bodyOf(await host.render('own', '/')), /<u>own<\/u><p id="[^"]+">hello world 3<\/p>/)
  assert.match((await streamed(host, 'own', '/late')).join(''), /first/)
})
