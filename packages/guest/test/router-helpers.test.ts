import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { userAgentFromString } from '../src/helpers/user-agent.ts'
import { RequestCookies, type ResponseCookie, ResponseCookies } from '../src/scope/cookies.ts'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

const layout = { 'app/layout.tsx': 'export default ({ children }) => <html><body>{children}</body></html>' }

/** The body of a page with this expression for its content. */
async function rendered(t: TestContext, imports: string, content: string, path = '/'): Promise<string> {
  const answer = await open(t, {
    ...layout,
    'app/page.tsx': `${imports}\nexport default function Page() { return <>${content}</> }`,
  }).ask(path)
  assert.equal(answer.failure, undefined)
  assert.deepEqual(answer.handled, [])
  return /<body>(.*)<\/body>/s.exec(answer.body)?.[1] ?? ''
}

test('cookies that would break out of their field are refused when they are set', () => {
  const set = (cookie: ResponseCookie) => new ResponseCookies().set(cookie).toString()
  assert.throws(() => set({ name: 'a b', value: 'x' }), { code: 'ROUTER_BAD_ARGUMENT' })
  assert.throws(() => set({ name: 'a', value: 'x', path: '/; HttpOnly' }), { code: 'ROUTER_BAD_ARGUMENT' })
  assert.throws(() => set({ name: 'a', value: 'x', domain: 'a\r\nb' }), { code: 'ROUTER_BAD_ARGUMENT' })
  assert.throws(() => set({ name: 'a', value: 'x', sameSite: 'lax; Secure' as 'lax' }), { code: 'ROUTER_BAD_ARGUMENT' })
  assert.equal(set({ name: 'a', value: 'x;\r\ny=' }), 'a=x%3B%0D%0Ay%3D; Path=/')
})

test('request cookies: the first of a name wins, an invalid escape is kept unchanged', () => {
  const cookies = new RequestCookies({ get: () => 'a=1; a=2; b="q"; c=%zz; flag; =x; d=e=f' })
  assert.deepEqual(
    cookies.getAll().map(({ name, value }) => [name, value]),
    [
      ['a', '1'],
      ['b', 'q'],
      ['c', '%zz'],
      ['flag', 'true'],
      ['d', 'e=f'],
    ],
  )
})

test('a page cannot set cookies or purge, and says why', async (t) => {
  const misuses = [
    'cookies().set("a", "b")',
    'cookies().delete("a")',
    'headers().set("a", "b")',
    'revalidateTag("t")',
    'revalidatePath("/")',
  ]
  for (const misuse of misuses) {
    const source = `import { cookies, headers } from 'next/headers'; import { revalidatePath, revalidateTag } from 'next/cache'; export default () => { ${misuse}; return 'x' }`
    const answer = await open(t, { ...layout, 'app/page.tsx': source }).ask('/')
    assert.equal(answer.status, 500, misuse)
    assert.match(answer.handled[0]?.message ?? '', /route handler|cannot be changed/, misuse)
  }
})

test('a helper outside of a request names itself', async (t) => {
  const answer = await open(t, {
    'app/route.ts':
      'import { draftMode } from "svc/headers"; import { after, userAgent } from "svc/server"; export const GET = () => { after(5) }',
  }).ask('/')
  assert.match(answer.failure?.message ?? '', /after\(\) needs a function or a promise/)
})

test('cache helpers check their arguments', async (t) => {
  const bad = [
    'revalidateTag("")',
    'revalidateTag("/a")',
    'revalidateTag("x".repeat(257))',
    'revalidatePath("a")',
    'revalidatePath("/a", "route")',
    'unstable_cache(async () => 1, [], { revalidate: 0 })',
  ]
  for (const call of bad) {
    const source = `import { revalidatePath, revalidateTag, unstable_cache } from 'next/cache'; export const POST = () => { ${call}; return new Response('x') }`
    const answer = await open(t, { 'app/route.ts': source }).ask('/', { method: 'POST' })
    assert.notEqual(answer.failure, undefined, call)
  }
})

test('unstable_cache and React.cache run once per request and arguments; tags and time are reported', async (t) => {
  const site = open(t, {
    ...layout,
    'app/page.tsx': `import { cache } from 'react'; import { unstable_cache, unstable_noStore } from 'svc/cache'
let runs = 0
const stored = unstable_cache(async (a) => a + ++runs, ['k'], { tags: ['t1'], revalidate: 30 })
const key = {}
const remembered = cache((a, o) => ({ a, n: ++runs }))
const failing = cache(() => { throw new Error('f' + ++runs) })
const message = () => { try { failing() } catch (error) { return error.message } }
export default async () => {
  const found = [await stored('a'), await stored('a'), await stored('b')]
  const same = [remembered(1, key) === remembered(1, key), remembered(1, key) === remembered(1, {}), message() === message()]
  return <p>{[...found, ...same].join()}</p>
}`,
  })
  const first = await site.ask('/')
  assert.match(first.body, /<p>a1,a1,b2,true,false,true<\/p>/)
  assert.deepEqual([first.tags, first.revalidate], [['t1'], 30])
  assert.doesNotMatch((await site.ask('/')).body, /a1/)
})

test('equal fetches of one render go out once; next options are reported', async (t) => {
  let count = 0
  const server = createServer((_request, response) => response.end(`answer ${++count}`))
  t.after(() => server.close())
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
  const site = open(t, {
    ...layout,
    'app/page.tsx': `const get = async (init) => (await fetch('http://127.0.0.1:${port}/x', init)).text()
export default async () => {
  const same = await Promise.all([get({ next: { tags: ['posts'], revalidate: 60 } }), get({ next: { revalidate: 90 } }), get()])
  return <p>{same.join()} | {await get({ cache: 'no-store' })} | {await get({ method: 'POST' })}</p>
}`,
  })
  const { body, tags, reads, revalidate } = await site.ask('/')
  assert.match(body.replaceAll('<!-- -->', ''), /<p>answer 1,answer 1,answer 1 \| answer 2 \| answer 3<\/p>/)
  assert.deepEqual([tags, reads, revalidate], [['posts'], ['no-store'], 60])
})

test('after() runs when the answer is out', async (t) => {
  const site = open(t, {
    'app/route.ts':
      'import { after } from "next/server"; import { headers } from "next/headers"; export const GET = () => { after(async () => { console.log("after " + (await headers()).get("x")) }); console.log("during"); return new Response("x") }',
  })
  const { answer, isolate } = await site.begin('/', { headers: [['x', 'own']] })
  await answer.ended.within(60_000, 'answer')
  await waitFor('what runs after', () => isolate.log.length > 1)
  assert.deepEqual(
    isolate.log.map(({ text }) => text),
    ['during', 'after own'],
  )
})

test('draft mode is on only for a client that has the secret of the site', async (t) => {
  const files = {
    'app/route.ts':
      'import { draftMode } from "next/headers"; export const GET = async () => new Response(String((await draftMode()).isEnabled)); export const POST = async () => { (await draftMode()).enable(); return new Response("on") }',
  }
  const without = open(t, files)
  assert.equal((await without.ask('/', { headers: [['cookie', '__prerender_bypass=']] })).body, 'false')
  assert.match((await without.ask('/', { method: 'POST' })).failure?.message ?? '', /SVC_DRAFT_SECRET/)
  const site = open(t, files, { env: { SVC_DRAFT_SECRET: 's3cret' } })
  const { headers } = await site.ask('/', { method: 'POST' })
  assert.deepEqual(
    headers.filter(([name]) => name === 'set-cookie'),
    [['set-cookie', '__prerender_bypass=s3cret; Path=/; HttpOnly; SameSite=lax']],
  )
  assert.equal((await site.ask('/', { headers: [['cookie', '__prerender_bypass=s3cret']] })).body, 'true')
  assert.equal((await site.ask('/', { headers: [['cookie', '__prerender_bypass=guess']] })).body, 'false')
})

test('navigation hooks tell path, query, params and segments', async (t) => {
  const site = open(t, {
    'app/layout.tsx': `import { useSelectedLayoutSegment, useSelectedLayoutSegments } from 'next/navigation'
export default function L({ children }) { return <html><body data-s={useSelectedLayoutSegments().join('/')} data-one={useSelectedLayoutSegment()}>{children}</body></html> }`,
    'app/(group)/blog/[slug]/page.tsx': `import { useParams, usePathname, useRouter, useSearchParams } from 'next/navigation'
export default function P() { const q = useSearchParams(); useRouter().push('/x'); return <p>{[usePathname(), q.get('a'), q.size, useParams().slug].join(' ')}</p> }`,
  })
  const { body, reads } = await site.ask('/blog/a%20b?a=1')
  assert.match(body, /<body data-s="blog\/a b" data-one="blog"><p>\/blog\/a%20b 1 1 a b<\/p>/)
  assert.deepEqual(reads, ['query'])
})

test('Link is a plain anchor', async (t) => {
  const imports = 'import Link from "next/link"'
  assert.equal(
    await rendered(t, imports, '<Link href="/a" prefetch replace scroll={false} shallow className="c">x</Link>'),
    '<a class="c" href="/a">x</a>',
  )
  assert.equal(
    await rendered(t, imports, '<Link href={{ pathname: "/p", query: { a: "1&", b: ["2", "3"] }, hash: "h" }}>x</Link>'),
    '<a href="/p?a=1%26&amp;b=2&amp;b=3#h">x</a>',
  )
  assert.equal(await rendered(t, imports, '<Link href="/a" legacyBehavior passHref><b>x</b></Link>'), '<b href="/a">x</b>')
})

test('Image is a plain img that keeps its place', async (t) => {
  const imports = 'import Image from "next/image"'
  assert.equal(
    await rendered(t, imports, '<Image src="/a.png" alt="A" width={2} height={1} quality={5}/>'),
    '<img alt="A" width="2" height="1" decoding="async" loading="lazy" style="color:transparent" src="/a.png"/>',
  )
  assert.match(
    await rendered(t, imports, '<Image src={{ src: "/b.png", width: 4, height: 3 }} alt="" priority/>'),
    /<img alt="" width="4" height="3" decoding="async" fetchPriority="high" style="color:transparent" src="\/b\.png"\/>/,
  )
  assert.match(
    await rendered(
      t,
      imports,
      '<Image src="/c.png" alt="" fill loader={({ src, width, quality }) => src + "?q=" + quality} quality={7}/>',
    ),
    /position:absolute;.*src="\/c\.png\?q=7"/,
  )
  const wrong = await open(t, { ...layout, 'app/page.tsx': `${imports}; export default () => <Image src="/a.png" alt=""/>` }).ask(
    '/',
  )
  assert.match(wrong.handled[0]?.message ?? '', /"\/a\.png" needs width and height, or fill/)
})

test('Script maps its strategy', async (t) => {
  const imports = 'import Script from "next/script"'
  assert.equal(await rendered(t, imports, '<Script src="/a.js" onLoad={() => {}}/>'), '<script src="/a.js" defer=""></script>')
  assert.equal(await rendered(t, imports, '<Script src="/a.js" strategy="beforeInteractive"/>'), '<script src="/a.js"></script>')
  assert.equal(
    await rendered(t, imports, '<Script id="i">{`if (1 < 2) go()`}</Script>'),
    '<script id="i">if (1 < 2) go()</script>',
  )
})

test('event handlers and state of client components: initial value, nothing sent', async (t) => {
  assert.equal(
    await rendered(
      t,
      '"use client"; import { useState } from "react"; function C() { const [n, set] = useState(3); return <button onClick={() => set(n + 1)}>{n}</button> }',
      '<C/>',
    ),
    '<button>3</button>',
  )
})

const agents: readonly (readonly [
  ua: string,
  browser: string | undefined,
  os: string | undefined,
  device: string | undefined,
  isBot: boolean,
])[] = [
  ['', undefined, undefined, undefined, false],
  [
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Edg/120.0',
    'Edge',
    'Windows',
    undefined,
    false,
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iOS',
    'mobile',
    false,
  ],
  ['Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/120.0 Safari/537.36', 'Chrome', 'Android', 'tablet', false],
  ['Mozilla/5.0 (compatible; Googlebot/2.1)', undefined, undefined, undefined, true],
]

for (const [ua, browser, os, device, isBot] of agents) {
  test(`user agent ${ua.slice(0, 40)}`, () => {
    const found = userAgentFromString(ua)
    assert.deepEqual([found.browser.name, found.os.name, found.device.type, found.isBot], [browser, os, device, isBot])
  })
}

test('a streamed body waits for a slow client, and stops when the client disconnects', async (t) => {
  const site = open(t, {
    'app/route.ts': `export const GET = () => { let n = 0; return new Response(new ReadableStream({ pull(c) { console.log('pull'); c.enqueue(new Uint8Array([65 + n++])) }, cancel() { console.log('cancelled') } }, { highWaterMark: 0 })) }`,
  })
  const { number, answer, isolate } = await site.begin('/')
  await isolate.enter('hold', number)
  const turn = async () => await isolate.evaluate('export const config = 1')
  const until = async (isThere: () => boolean) => {
    for (let turns = 0; !isThere(); turns++) {
      assert.ok(turns < 1_000, 'it did not come in 1,000 turns')
      await turn()
    }
  }
  await until(() => answer.pieces.length > 0)
  for (let turns = 0; turns < 10; turns++) await turn()
  const held = answer.pieces.length
  for (let turns = 0; turns < 10; turns++) await turn()
  assert.equal(answer.pieces.length, held)
  await isolate.enter('resume', number)
  await until(() => answer.pieces.length > held)
  await isolate.enter('abort', number)
  await until(() => isolate.log.at(-1)?.text === 'cancelled')
})

test('React.cache and unstable_cache take the helpers, and each other, for the functions that they are', async (t) => {
  const source = `import { cache } from 'react'
import { headers, cookies } from 'next/headers'
import { unstable_cache } from 'next/cache'
const fields = cache(headers), jar = cache(cookies)
const load = async () => 'loaded'
const [once, kept] = [cache(load), unstable_cache(load)]
export async function GET() {
  return Response.json([(await fields()).get('x-id'), (await headers()).get('x-id'), (await jar()).get('id').value, (await cookies()).get('id').value, await once(), await kept(), await once()])
}`
  const answer = await open(t, { 'app/route.ts': source }).ask('/', {
    headers: [
      ['x-id', '7'],
      ['cookie', 'id=8'],
    ],
  })
  assert.equal(answer.failure, undefined)
  assert.deepEqual(JSON.parse(answer.body), ['7', '7', '8', '8', 'loaded', 'loaded', 'loaded'])
})

test('the router of useRouter carries no state to another request', async (t) => {
  const page = `import { useRouter } from 'next/navigation'
export default ({ searchParams }) => { const router = useRouter(); const seen = router.note ?? 'nothing'; router.note = 'secret'; return <p>{seen}</p> }`
  const site = open(t, { ...layout, 'app/page.tsx': page })
  for (const path of ['/?a', '/?b']) assert.match((await site.ask(path)).body, /<p>nothing<\/p>/)
})
