import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanFiles } from './temp-site.ts'

/** Metadata routes of a site as "pattern type contentType". */
function metadataOf(site: ReturnType<typeof scanFiles>): string[] {
  return site.manifest.routes.map((route) => {
    assert.equal(route.kind, 'metadata')
    assert.equal(route.file, route.metadata?.file)
    return `${route.pattern} ${route.metadata?.type} ${route.metadata?.contentType}`
  })
}

test('names that only look like metadata files are none', (t) => {
  const site = scanFiles(t, [
    'app/layout.tsx',
    'app/icon.webp',
    'app/icon12.png',
    'app/favicon.ts',
    'app/favicon.png',
    'app/robots1.txt',
    'app/sitemap.txt',
    'app/a/robots.txt',
    'app/a/manifest.ts',
    'app/a/favicon.ico',
    'app/opengraph-image.svg',
    'app/.icon.png',
  ])
  assert.deepEqual(metadataOf(site), [])
})

test('static files have their URL and media type', (t) => {
  const site = scanFiles(t, [
    'app/favicon.ico',
    'app/robots.txt',
    'app/sitemap.xml',
    'app/manifest.webmanifest',
    'app/icon.svg',
    'app/icon1.png',
    'app/apple-icon.jpg',
    'app/blog/opengraph-image.png',
    'app/blog/twitter-image.gif',
    'app/blog/sitemap.xml',
  ])
  assert.deepEqual(metadataOf(site), [
    '/apple-icon.jpg apple-icon image/jpeg',
    '/blog/opengraph-image.png opengraph-image image/png',
    '/blog/sitemap.xml sitemap application/xml',
    '/blog/twitter-image.gif twitter-image image/gif',
    '/favicon.ico favicon image/x-icon',
    '/icon.svg icon image/svg+xml',
    '/icon1.png icon image/png',
    '/manifest.webmanifest manifest application/manifest+json',
    '/robots.txt robots text/plain; charset=utf-8',
    '/sitemap.xml sitemap application/xml',
  ])
})

test('modules have the URL of what they make', (t) => {
  const site = scanFiles(t, [
    'app/robots.ts',
    'app/sitemap.ts',
    'app/manifest.js',
    'app/icon.tsx',
    'app/[lang]/opengraph-image.jsx',
    'app/[lang]/sitemap.js',
  ])
  assert.deepEqual(metadataOf(site), [
    '/[lang]/opengraph-image opengraph-image null',
    '/[lang]/sitemap.xml sitemap null',
    '/icon icon null',
    '/manifest.webmanifest manifest null',
    '/robots.txt robots null',
    '/sitemap.xml sitemap null',
  ])
})

test('modules that make several files have an id in their URL', (t) => {
  const site = scanFiles(t, {
    'app/sitemap.ts': 'export async function generateSitemaps() { return [{ id: 0 }] }',
    'app/icon.tsx': 'const generateImageMetadata = () => []\nexport { generateImageMetadata }',
    'app/apple-icon.tsx': '// generateImageMetadata is not here\nexport default function Icon() {}',
  })
  assert.deepEqual(metadataOf(site), [
    '/apple-icon apple-icon null',
    '/icon/[__metadata_id__] icon null',
    '/sitemap/[__metadata_id__] sitemap null',
  ])
  assert.deepEqual(site.manifest.routes[1]?.segments, [
    { kind: 'static', value: 'icon' },
    { kind: 'dynamic', name: '__metadata_id__' },
  ])
})

test('images in groups and slots have names of their own, so that two groups do not collide', (t) => {
  const site = scanFiles(t, ['app/(a)/icon.png', 'app/(b)/icon.png', 'app/(a)/sitemap.ts', 'app/@s/opengraph-image.tsx'])
  const patterns = site.manifest.routes.map((route) => route.pattern)
  assert.equal(new Set(patterns).size, 4)
  assert.deepEqual(site.problems, [])
  assert.ok(patterns.includes('/sitemap.xml'))
  assert.equal(patterns.filter((pattern) => /^\/icon-[0-9a-z]{6}\.png$/.test(pattern)).length, 2)
  assert.equal(patterns.filter((pattern) => /^\/opengraph-image-[0-9a-z]{6}$/.test(pattern)).length, 1)
})

test('the text of an image stands beside it', (t) => {
  const site = scanFiles(t, ['app/opengraph-image.png', 'app/opengraph-image.alt.txt', 'app/icon.png', 'app/icon.alt.txt'])
  const [icon, image] = site.manifest.routes
  assert.equal(image?.metadata?.altFile, `${site.root}/app/opengraph-image.alt.txt`)
  assert.ok(icon?.metadata && !('altFile' in icon.metadata))
})
