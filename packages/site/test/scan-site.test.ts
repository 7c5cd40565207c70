import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withMiddlewareMatcher } from '../src/manifest/parse-manifest.ts'
import { scanSite } from '../src/scan/scan-site.ts'
import { brief, makeSite, scanFiles, scanned } from './temp-site.ts'

test('a site whose directory is missing has no routes and one problem', (t) => {
  const root = makeSite(t, [])
  rmSync(root, { recursive: true })
  const site = scanned(root)
  assert.deepEqual(site.routes, [])
  assert.equal(site.manifest.appDir, null)
  assert.deepEqual(site.problems, [`error ${root}: the directory is not there`])
})

test('an empty directory and a directory of static files are sites without routes and without problems', (t) => {
  for (const files of [[], ['public/index.html', 'index.html', 'src/main.js']]) {
    const { manifest, root } = scanFiles(t, files)
    assert.deepEqual(manifest.routes, [])
    assert.deepEqual(manifest.problems, [])
    assert.equal(manifest.appDir, null)
    assert.equal(manifest.notFound, null)
    assert.equal(manifest.publicDir, join(root, 'public'))
  }
})

test('the app directory is app, else src/app, else the root when it holds a page or layout', (t) => {
  const cases: [string[], string, string[]][] = [
    [['app/page.tsx', 'src/app/a/page.tsx', 'page.tsx'], 'app', ['page / app/page.tsx']],
    [['src/app/page.jsx', 'page.tsx'], 'src/app', ['page / src/app/page.jsx']],
    [['page.ts', 'about/page.js'], '', ['page / page.ts', 'page /about about/page.js']],
    [['layout.tsx', 'about/page.js', 'public/a/page.tsx'], '', ['page /about about/page.js']],
  ]
  for (const [files, appDir, routes] of cases) {
    const site = scanFiles(t, files)
    assert.equal(site.manifest.appDir, join(site.root, appDir))
    assert.deepEqual(site.routes, routes)
  }
})

test('a directory of static files with another name is no part of the app directory around it', (t) => {
  const root = makeSite(t, ['page.tsx', 'files/a/page.tsx', 'public/page.tsx'])
  const manifest = scanSite({ root, publicDir: 'files' })
  assert.equal(manifest.publicDir, join(root, 'files'))
  assert.deepEqual(
    manifest.routes.map((route) => route.pattern),
    ['/', '/public'],
  )
})

test('every convention of a segment is found, with each extension', (t) => {
  const site = scanFiles(t, [
    'app/layout.tsx',
    'app/template.ts',
    'app/global-error.jsx',
    'app/not-found.js',
    'app/blog/layout.js',
    'app/blog/loading.tsx',
    'app/blog/error.jsx',
    'app/blog/[slug]/page.ts',
    'app/api/route.ts',
  ])
  assert.deepEqual(site.routes, ['handler /api app/api/route.ts', 'page /blog/[slug] app/blog/[slug]/page.ts'])
  assert.deepEqual(site.tree('/blog/[slug]'), {
    segment: '',
    layout: 'app/layout.tsx',
    template: 'app/template.ts',
    notFound: 'app/not-found.js',
    slots: {
      children: {
        segment: 'blog',
        layout: 'app/blog/layout.js',
        loading: 'app/blog/loading.tsx',
        error: 'app/blog/error.jsx',
        slots: { children: { segment: '[slug]', param: 'slug', page: 'app/blog/[slug]/page.ts' } },
      },
    },
  })
  assert.equal(site.manifest.globalError, join(site.root, 'app/global-error.jsx'))
  assert.deepEqual(site.problems, [])
  assert.equal(site.manifest.routes[0]?.tree, null)
})

test('other files, private directories, dot files, node_modules and unknown extensions are no routes', (t) => {
  const site = scanFiles(t, [
    'app/page.tsx',
    'app/Page.tsx',
    'app/page.mdx',
    'app/page.test.tsx',
    'app/styles.css',
    'app/_lib/page.tsx',
    'app/.svc/page.tsx',
    'app/.git/page.tsx',
    'app/node_modules/x/page.tsx',
    'app/components/button.tsx',
  ])
  assert.deepEqual(site.routes, ['page / app/page.tsx'])
  assert.deepEqual(site.problems, ['error app/page.mdx: is not read: rewrite it as page.tsx'])
})

test('segments: dynamic, catch-all, optional catch-all, group, escaped underscore, unicode', (t) => {
  const site = scanFiles(t, [
    'app/(site)/a/page.tsx',
    'app/[id]/page.tsx',
    'app/b/[...rest]/page.tsx',
    'app/c/[[...rest]]/page.tsx',
    'app/%5Finternal/page.tsx',
    'app/über uns/[größe]/page.tsx',
  ])
  const segments = Object.fromEntries(site.manifest.routes.map((route) => [route.pattern, route.segments]))
  assert.deepEqual(segments, {
    '/[id]': [{ kind: 'dynamic', name: 'id' }],
    '/_internal': [{ kind: 'static', value: '_internal' }],
    '/a': [{ kind: 'static', value: 'a' }],
    '/b/[...rest]': [
      { kind: 'static', value: 'b' },
      { kind: 'catch-all', name: 'rest' },
    ],
    '/c/[[...rest]]': [
      { kind: 'static', value: 'c' },
      { kind: 'optional-catch-all', name: 'rest' },
    ],
    '/über uns/[größe]': [
      { kind: 'static', value: 'über uns' },
      { kind: 'dynamic', name: 'größe' },
    ],
  })
  assert.deepEqual(site.problems, [])
})

test('groups may each have a root layout of their own', (t) => {
  const site = scanFiles(t, [
    'app/(shop)/layout.tsx',
    'app/(shop)/page.tsx',
    'app/(admin)/layout.tsx',
    'app/(admin)/admin/page.tsx',
  ])
  assert.deepEqual(site.tree('/'), {
    segment: '',
    slots: { children: { segment: '(shop)', layout: 'app/(shop)/layout.tsx', page: 'app/(shop)/page.tsx' } },
  })
  assert.deepEqual(site.tree('/admin'), {
    segment: '',
    slots: {
      children: {
        segment: '(admin)',
        layout: 'app/(admin)/layout.tsx',
        slots: { children: { segment: 'admin', page: 'app/(admin)/admin/page.tsx' } },
      },
    },
  })
  assert.deepEqual(site.problems, [])
})

test('middleware, also named proxy, stands at the root of the site or in src', (t) => {
  for (const name of ['middleware', 'proxy']) {
    const own = scanFiles(t, ['page.tsx', `${name}.js`])
    assert.deepEqual(own.manifest.middleware, { file: join(own.root, `${name}.js`), matcher: null })
    const inSource = scanFiles(t, ['src/app/page.tsx', `src/${name}.ts`])
    assert.equal(inSource.manifest.middleware?.file, join(inSource.root, `src/${name}.ts`))
    const statics = scanFiles(t, ['public/index.html', `${name}.ts`])
    assert.equal(statics.manifest.middleware?.file, join(statics.root, `${name}.ts`))
    assert.equal(statics.manifest.refusal, null)
  }
})

test('a site with two files of middleware is refused whole: the one that is left out may be its guard', (t) => {
  const pairs = [
    ['middleware.ts', 'proxy.ts'],
    ['middleware.ts', 'middleware.js'],
    ['middleware.ts', 'src/proxy.ts'],
  ]
  for (const [one = '', other = ''] of pairs) {
    const site = scanFiles(t, { 'app/page.tsx': '', [one]: 'export const middleware = 1', [other]: 'export const proxy = 1' })
    const message = 'a site has one middleware.* or proxy.*, at its root or in src/: every request fails until one is left'
    assert.deepEqual(site.problems, [`error ${one}: ${message} + ${other}`])
    assert.equal(site.manifest.refusal, `${join(site.root, one)}: ${message} (${join(site.root, other)})`)
  }
})

test('middleware in any other place is an error', (t) => {
  const site = scanFiles(t, ['app/page.tsx', 'app/middleware.ts', 'app/a/proxy.js', 'middleware.mjs'])
  assert.equal(site.manifest.middleware, null)
  assert.deepEqual(site.problems, [
    'error middleware.mjs: is ignored and protects nothing: rewrite it as middleware.ts',
    "error app/middleware.ts: has no effect here: move it to the site's root, or to src/",
    "error app/a/proxy.js: has no effect here: move it to the site's root, or to src/",
  ])
})

test('unmatched paths get the app directory with its not-found and the defaults of its slots', (t) => {
  const site = scanFiles(t, ['app/layout.tsx', 'app/not-found.tsx', 'app/@nav/default.tsx', 'app/@ad/page.tsx', 'app/a/page.tsx'])
  const { notFound } = site.manifest
  assert.ok(notFound)
  assert.deepEqual(
    brief(notFound, (text) => text.replaceAll(`${site.root}/`, '')),
    {
      segment: '',
      layout: 'app/layout.tsx',
      notFound: 'app/not-found.tsx',
      slots: { ad: null, nav: { segment: '@nav', default: 'app/@nav/default.tsx' } },
    },
  )
})

test('the manifest is frozen plain JSON', (t) => {
  const root = makeSite(t, ['app/layout.tsx', 'app/icon.png', 'app/@a/default.tsx', 'app/a/[id]/page.tsx', 'middleware.ts'])
  const manifest = scanSite({ root })
  assert.deepEqual(JSON.parse(JSON.stringify(manifest)), manifest)
  const assertFrozen = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    assert.ok(Object.isFrozen(value), `${path} is not frozen`)
    for (const [key, item] of Object.entries(value)) assertFrozen(item, `${path}.${key}`)
  }
  assertFrozen(manifest, 'manifest')
})

test('the version follows the structure, not the time or the contents', (t) => {
  const root = makeSite(t, ['app/layout.tsx', 'app/a/page.tsx', 'app/sitemap.ts'])
  const first = scanSite({ root }).version
  writeFileSync(join(root, 'app/a/page.tsx'), 'export default () => null')
  assert.equal(scanSite({ root }).version, first)
  const versions = [first]
  const expectChange = (what: string) => {
    const { version } = scanSite({ root })
    assert.ok(!versions.includes(version), `${what} must change the version`)
    versions.push(version)
  }
  writeFileSync(join(root, 'app/b.tsx'), '')
  assert.equal(scanSite({ root }).version, first)
  writeFileSync(join(root, 'app/sitemap.ts'), 'export async function generateSitemaps() {}')
  expectChange('generateSitemaps')
  mkdirSync(join(root, 'app/@slot'))
  expectChange('an empty slot')
  writeFileSync(join(root, 'middleware.ts'), '')
  expectChange('middleware')
  rmSync(join(root, 'app/a/page.tsx'))
  expectChange('a page less')
})

test('a matcher that was read later is in the manifest under a new version', (t) => {
  const { manifest } = scanFiles(t, ['app/page.tsx', 'middleware.ts'])
  const filled = withMiddlewareMatcher(manifest, ['/a'])
  assert.deepEqual(filled.middleware?.matcher, ['/a'])
  assert.notEqual(filled.version, manifest.version)
  assert.equal(withMiddlewareMatcher(manifest, ['/a']).version, filled.version)
  const without = scanFiles(t, ['app/page.tsx']).manifest
  assert.equal(withMiddlewareMatcher(without, ['/a']), without)
})
