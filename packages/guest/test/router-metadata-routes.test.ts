import assert from 'node:assert/strict'
import { test } from 'node:test'
import { robotsText, sitemapXml } from '../src/metadata/metadata-routes-text.ts'
import { routerSites } from './router-support/router-site.ts'

const open = await routerSites()

test('a sitemap is XML with escaped values and the extensions it needs', () => {
  const xml = sitemapXml([
    { url: 'https://a/?x=1&y=<', lastModified: new Date(0), changeFrequency: 'daily', priority: 0.5 },
    {
      url: 'https://b',
      alternates: { languages: { de: 'https://b/de' } },
      images: ['https://b/i'],
      videos: [{ title: 'T', thumbnail_loc: 'https://b/v' }],
    },
  ])
  assert.equal(
    xml,
    `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url>
<loc>https://a/?x=1&amp;y=&lt;</loc>
<lastmod>1970-01-01T00:00:00.000Z</lastmod>
<changefreq>daily</changefreq>
<priority>0.5</priority>
</url>
<url>
<loc>https://b</loc>
<xhtml:link rel="alternate" hreflang="de" href="https://b/de" />
<image:image>
<image:loc>https://b/i</image:loc>
</image:image>
<video:video>
<video:title>T</video:title>
<video:thumbnail_loc>https://b/v</video:thumbnail_loc>
</video:video>
</url>
</urlset>
`,
  )
})

test('robots: several agents and rules; a line break in a value begins no rule', () => {
  const text = robotsText({
    rules: [{ userAgent: ['a', 'b'], allow: '/', disallow: ['/x', '/y\nAllow: /z'], crawlDelay: 2 }, { disallow: '/' }],
    sitemap: ['https://s'],
    host: 'h',
  })
  assert.equal(
    text,
    'User-Agent: a\nUser-Agent: b\nAllow: /\nDisallow: /x\nDisallow: /y Allow: /z\nCrawl-delay: 2\n\nUser-Agent: *\nDisallow: /\n\nHost: h\nSitemap: https://s\n',
  )
})

test('a function without a usable result fails with its file', async (t) => {
  const site = open(t, {
    'app/sitemap.ts': 'export default () => 5',
    'app/icon.tsx': 'export default () => "no"',
    'app/robots.ts': 'export const a = 1',
  })
  for (const path of ['/sitemap.xml', '/icon', '/robots.txt']) {
    const { failure } = await site.ask(path)
    assert.match(failure?.message ?? '', /app\/(sitemap\.ts|icon\.tsx|robots\.ts): /)
  }
})

test('sitemap, robots, manifest and images are served with their types', async (t) => {
  const site = open(t, {
    'app/sitemap.ts': 'export default async () => [{ url: "https://a" }]',
    'app/robots.ts': 'export default () => ({ rules: { userAgent: "*" } })',
    'app/manifest.ts': 'export default () => ({ name: "x" })',
    'app/icon.tsx': 'export default () => new Response(new Uint8Array([1]), { headers: { "content-type": "image/png" } })',
  })
  const type = async (path: string) => (await site.ask(path)).headers.find(([name]) => name === 'content-type')?.[1]
  assert.equal(await type('/sitemap.xml'), 'application/xml')
  assert.equal(await type('/robots.txt'), 'text/plain; charset=utf-8')
  assert.equal(await type('/manifest.webmanifest'), 'application/manifest+json')
  assert.equal(await type('/icon'), 'image/png')
  assert.equal((await site.ask('/robots.txt', { method: 'HEAD' })).body, '')
  assert.equal((await site.ask('/robots.txt', { method: 'POST' })).status, 405)
})

test('generateSitemaps: each id is a sitemap of its own, an unknown one is 404', async (t) => {
  const site = open(t, {
    'app/sitemap.ts':
      'export const generateSitemaps = async () => [{ id: 0 }, { id: 1 }]; export default async ({ id }) => [{ url: "https://a/" + id }]',
  })
  assert.match((await site.ask('/sitemap/1.xml')).body, /https:\/\/a\/1/)
  assert.equal((await site.ask('/sitemap/9.xml')).status, 404)
})
