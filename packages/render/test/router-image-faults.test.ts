import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { tempSite } from '@svc/testkit'
import { type OpenSite, routerSites } from '../../guest/test/router-support/router-site.ts'
import { HostProcess } from './host-process.ts'

let open: OpenSite
before(async () => {
  open = await routerSites()
})

const layout =
  'export const metadata = { metadataBase: "http://h.example" }; export default ({ children }) => <html><body>{children}</body></html>'
const page = 'export default () => <p>whole</p>'
const image = 'export default () => new Response("")'

const faults: [name: string, module: string, message: RegExp][] = [
  ['throws when it is loaded', `throw new Error("at load"); ${image}`, /at load/],
  [
    'throws in generateImageMetadata',
    `export function generateImageMetadata() { throw new Error("at list") } ${image}`,
    /at list/,
  ],
  [
    'rejects in generateImageMetadata',
    `export async function generateImageMetadata() { await null; throw new Error("late") } ${image}`,
    /late/,
  ],
  ['lists nonsense', `export function generateImageMetadata() { return [null] } ${image}`, /null/],
  [
    'leaves by notFound()',
    `import { notFound } from 'next/navigation'\nexport function generateImageMetadata() { notFound() } ${image}`,
    /404/,
  ],
]

for (const type of ['opengraph-image', 'twitter-image', 'icon', 'apple-icon']) {
  test(`a page goes on without the tag of an ${type} that fails, and one line says why`, async (t) => {
    for (const [name, module, message] of faults) {
      const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': page, [`app/${type}.tsx`]: module })
      for (const mayStream of [false, true]) {
        const answer = await site.ask('/', { mayStream })
        assert.equal(answer.status, 200, name)
        assert.match(answer.body, /<p>whole<\/p>/, name)
        assert.doesNotMatch(answer.body, new RegExp(`/${type}`), name)
        assert.equal(answer.handled.length, 1, name)
        assert.match(answer.handled[0]?.message ?? '', message)
        assert.ok(answer.handled[0]?.where?.endsWith(`app/${type}.tsx`))
      }
    }
  })
}

test('images that are listed by an async function have their tags', async (t) => {
  const module = `export async function generateImageMetadata({ params }) { await null; return [{ id: 'a', alt: 'A' }, { id: 'b', alt: 'B' }] } ${image}`
  const site = open(t, { 'app/layout.tsx': layout, 'app/page.tsx': page, 'app/opengraph-image.tsx': module })
  const { body, handled } = await site.ask('/')
  assert.match(
    body,
    /og:image" content="http:\/\/h\.example\/opengraph-image\/a".*og:image" content="http:\/\/h\.example\/opengraph-image\/b"/s,
  )
  assert.deepEqual(handled, [])
})

test('a failing generateMetadata stays an error of the page', async (t) => {
  const site = open(t, {
    'app/layout.tsx': layout,
    'app/page.tsx': `export const generateMetadata = () => { throw new Error("own") }; ${page}`,
    'app/icon.tsx': 'throw new Error("icon")',
  })
  const { status, handled } = await site.ask('/')
  assert.equal(status, 500)
  assert.equal(handled.filter(({ message }) => message === 'icon').length, 1)
})

test('a page goes on without an image whose module does not compile, until the file is mended', async (t) => {
  const root = tempSite(t, {
    'app/layout.tsx': layout,
    'app/page.tsx': page,
    'app/other/page.tsx': page,
    'app/opengraph-image.tsx': 'import { ImageResponse } from "next/og"\nexport default () => new ImageResponse()',
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  for (const path of ['/', '/other']) {
    const { status, text } = await host.render('a', path)
    assert.equal(status, 200)
    assert.match(text, /<p>whole<\/p>/)
    assert.doesNotMatch(text, /opengraph-image/)
  }
  await host.logged(/opengraph-image\.tsx:1:31: the server has no module .*next\/og.*pages go on without/)
  assert.equal(host.log.match(/pages go on without/g)?.length, 1)
  await assert.rejects(host.render('a', '/opengraph-image'), /next\/og/)
  writeFileSync(join(root, 'app/opengraph-image.tsx'), image)
  await host.changed('a', [join(root, 'app/opengraph-image.tsx')])
  assert.match((await host.render('a', '/')).text, /og:image" content="http:\/\/h\.example\/opengraph-image"/)
})
