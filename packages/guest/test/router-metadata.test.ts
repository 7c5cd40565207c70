import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headTags } from '../src/metadata/head-tags.ts'
import { emptyMetadata, mergeMetadata, noTemplates } from '../src/metadata/merge-metadata.ts'
import { resolveHead } from '../src/metadata/resolve-metadata.ts'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

type Exported = Readonly<Record<string, unknown>> | null

/** Tags of a chain of metadata exports (layouts, then the page), as text. */
async function tags(...levels: Exported[]): Promise<string[]> {
  const head = await resolveHead(levels.map((metadata) => ({ exports: metadata && { metadata }, props: {}, files: [] })))
  return headTags(head.metadata, head.viewport, (url) => String(url))
    .slice(2)
    .map(({ tag, attributes, text }) =>
      [tag, ...Object.entries(attributes).map(([key, value]) => `${key}=${value}`), text].filter(Boolean).join(' '),
    )
}

const titles: readonly (readonly [title: unknown, template: string | null, expected: string | undefined])[] = [
  ['Page', null, 'Page'],
  ['Page', '%s | Site', 'Page | Site'],
  ['$& $1', '%s | %s', '$& $1 | $& $1'],
  [{ default: 'D', template: '%s x' }, '%s | Site', 'D | Site'],
  [{ absolute: 'A' }, '%s | Site', 'A'],
  [{ template: '%s x' }, null, ''],
  [null, '%s | Site', undefined],
]

for (const [title, template, expected] of titles) {
  test(`title ${JSON.stringify(title)} under ${template}`, () => {
    const merged = mergeMetadata(emptyMetadata, { title }, { ...noTemplates, title: template }, [])
    assert.equal(merged.title?.absolute, expected)
  })
}

const merges: readonly (readonly [name: string, levels: readonly Exported[], expected: readonly string[]])[] = [
  [
    'a template holds for the segments below, not for its own',
    [{ title: { template: '%s | A', default: 'A' } }, { title: 'own' }],
    ['title own'],
  ],
  [
    'a template reaches a page further down',
    [{ title: { template: '%s | A', default: 'A' } }, null, { title: 'own' }],
    ['title own | A'],
  ],
  [
    'a plain title in between ends the template',
    [{ title: { template: '%s | A', default: 'A' } }, { title: 'B' }, null, { title: 'own' }],
    ['title own'],
  ],
  [
    'fields are replaced whole',
    [{ openGraph: { title: 'x', siteName: 'S' } }, { openGraph: { title: 'y' } }],
    ['meta property=og:title content=y', 'meta name=twitter:card content=summary', 'meta name=twitter:title content=y'],
  ],
  [
    'null takes a field away',
    [
      { description: 'd', openGraph: { title: 'x' } },
      { description: null, openGraph: null },
    ],
    [],
  ],
  ['undefined keeps it', [{ description: 'd' }, { description: undefined }], ['meta name=description content=d']],
  [
    'robots',
    [{ robots: { index: false, follow: true, nocache: true, 'max-snippet': 5, googleBot: { index: true } } }],
    ['meta name=robots content=noindex, follow, nocache, max-snippet:5', 'meta name=googlebot content=index'],
  ],
  [
    'alternates',
    [
      {
        alternates: {
          canonical: '/c',
          languages: { de: '/de', fr: [{ url: '/fr', title: 'F' }] },
          types: { 'application/rss+xml': '/rss' },
        },
      },
    ],
    [
      'link rel=canonical href=/c',
      'link rel=alternate href=/de hrefLang=de',
      'link rel=alternate href=/fr hrefLang=fr title=F',
      'link rel=alternate href=/rss type=application/rss+xml',
    ],
  ],
  [
    'icons as a list',
    [{ icons: ['/a.png', { url: '/b.png', sizes: '1x1' }] }],
    ['link rel=icon href=/a.png', 'link rel=icon href=/b.png sizes=1x1'],
  ],
  [
    'icons by kind',
    [{ icons: { icon: '/i', shortcut: '/s', apple: '/p', other: { rel: 'mask-icon', url: '/m', color: 'red' } } }],
    [
      'link rel=shortcut icon href=/s',
      'link rel=icon href=/i',
      'link rel=apple-touch-icon href=/p',
      'link rel=mask-icon href=/m color=red',
    ],
  ],
  [
    'verification and other',
    [{ verification: { google: 'g', other: { me: ['a', 'b'] } }, other: { x: 'y' } }],
    ['meta name=google-site-verification content=g', 'meta name=me content=a', 'meta name=me content=b', 'meta name=x content=y'],
  ],
  [
    'apple web app and format detection',
    [{ appleWebApp: { title: 'T', statusBarStyle: 'black' }, formatDetection: { telephone: false, email: false } }],
    [
      'meta name=format-detection content=telephone=no, email=no',
      'meta name=mobile-web-app-capable content=yes',
      'meta name=apple-mobile-web-app-title content=T',
      'meta name=apple-mobile-web-app-status-bar-style content=black',
    ],
  ],
  [
    'authors, keywords, manifest',
    [{ authors: [{ name: 'N', url: 'https://n' }], keywords: ['a', 'b'], manifest: '/m.json' }],
    [
      'link rel=author href=https://n',
      'meta name=author content=N',
      'link rel=manifest href=/m.json crossOrigin=use-credentials',
      'meta name=keywords content=a,b',
    ],
  ],
  [
    'article',
    [{ openGraph: { type: 'article', publishedTime: '2026', authors: ['A'], images: { url: '/i', width: 1, alt: 'x' } } }],
    [
      'meta property=og:image content=/i',
      'meta property=og:image:width content=1',
      'meta property=og:image:alt content=x',
      'meta property=og:type content=article',
      'meta property=article:published_time content=2026',
      'meta property=article:author content=A',
      'meta name=twitter:card content=summary_large_image',
      'meta name=twitter:image content=/i',
      'meta name=twitter:image:width content=1',
      'meta name=twitter:image:alt content=x',
    ],
  ],
]

for (const [name, levels, expected] of merges) {
  test(`merging: ${name}`, async () => {
    assert.deepEqual(await tags(...levels), expected)
  })
}

const bare = { 'app/layout.tsx': 'export default ({ children }) => <html><body>{children}</body></html>' }

test('a generator that throws rejects, even if the levels below ignore their parent', async () => {
  const boom = () => Promise.reject(new Error('boom'))
  const levels = [
    { exports: { generateMetadata: boom }, props: {}, files: [] },
    { exports: { metadata: {} }, props: {}, files: [] },
  ]
  await assert.rejects(async () => await resolveHead(levels), /boom/)
})

test('generateMetadata gets params, searchParams and what is merged above it', async (t) => {
  const site = open(t, {
    ...bare,
    'app/layout.tsx': `export const metadata = { description: 'above', metadataBase: new URL('https://base.test/sub') }\n${bare['app/layout.tsx']}`,
    'app/[id]/page.tsx': `export async function generateMetadata({ params, searchParams }, parent) {
  return { title: (await params).id + (await searchParams).q, description: (await parent).description + '!', openGraph: { images: '/i.png', url: './x' }, alternates: { canonical: './' } }
}
export const viewport = { themeColor: [{ media: 'print', color: 'red' }], userScalable: false }
export default () => 'x'`,
  })
  const { body, reads } = await site.ask('/7?q=8')
  assert.match(body, /<title>78<\/title>/)
  assert.match(body, /content="above!"/)
  assert.match(body, /property="og:image" content="https:\/\/base\.test\/sub\/i\.png"/)
  assert.match(body, /rel="canonical" href="https:\/\/base\.test\/sub"/)
  assert.match(body, /name="viewport" content="width=device-width, initial-scale=1, user-scalable=no"/)
  assert.match(body, /name="theme-color" content="red" media="print"/)
  assert.deepEqual(reads, ['query'])
})

test('without metadataBase the origin of the request is used, and that counts as reading the host', async (t) => {
  const site = open(t, {
    ...bare,
    'app/page.tsx': 'export const metadata = { openGraph: { images: ["/i.png"] } }; export default () => "x"',
  })
  const { body, reads } = await site.ask('/', { host: 'other.test' })
  assert.match(body, /content="http:\/\/other\.test\/i\.png"/)
  assert.deepEqual(reads, ['host'])
})

test('image files of a segment become tags and win over exported images', async (t) => {
  const site = open(t, {
    ...bare,
    'app/icon.png': 'png',
    'app/apple-icon.png': 'png',
    'app/favicon.ico': 'ico',
    'app/blog/[slug]/opengraph-image.tsx':
      'export const alt = "A"; export const size = { width: 2, height: 1 }; export const contentType = "image/png"; export default () => new Response("")',
    'app/blog/[slug]/page.tsx':
      'export const metadata = { metadataBase: new URL("https://b.test"), openGraph: { title: "T" } }; export default () => "x"',
  })
  const { body } = await site.ask('/blog/a%20b')
  assert.match(body, /<link rel="icon" href="\/favicon\.ico/)
  assert.match(body, /<link rel="icon" href="\/icon\.png/)
  assert.match(body, /<link rel="apple-touch-icon" href="\/apple-icon\.png/)
})

test('everything in metadata that comes from the request is escaped', async (t) => {
  const site = open(t, {
    ...bare,
    'app/page.tsx':
      'export const generateMetadata = async ({ searchParams }) => { const { q } = await searchParams; return { title: q, description: q, openGraph: { title: q, url: "/" + q }, icons: q, other: { [`n"><`]: q } } }; export default ({ searchParams }) => <a href={"/" + searchParams.q} title={searchParams.q}>{searchParams.q}</a>',
  })
  const attack = `"></title></script><script>alert(1)</script><!--`
  const { body } = await site.ask(`/?q=${encodeURIComponent(attack)}`)
  assert.doesNotMatch(body, /<script>alert|<\/script>|<!--(?! -->)/)
  assert.match(body, /<title>&quot;&gt;&lt;\/title&gt;/)
})

test('a page that changes the metadata it was handed changes that of no other request', async (t) => {
  const page = `export async function generateMetadata({ searchParams }, parent) {
  const above = await parent
  const { name } = await searchParams
  const seen = above.description ?? 'nothing'
  above.description = name
  return { title: seen }
}
export default () => 'x'`
  const site = open(t, { 'app/page.tsx': page })
  for (const name of ['Ada', 'Grace']) assert.match((await site.ask(`/?name=${name}`)).body, /<title>nothing<\/title>/)
})

test('an Open Graph type that is a name of Object.prototype is a type like any other', async (t) => {
  const page = `export const metadata = { openGraph: { type: 'constructor' } }\nexport default () => 'x'`
  assert.match((await open(t, { 'app/page.tsx': page }).ask('/')).body, /<meta property="og:type" content="constructor"\/>/)
})
