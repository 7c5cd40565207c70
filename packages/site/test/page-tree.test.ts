import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRoutes } from '../src/routing/route-table.ts'
import { scanFiles } from './temp-site.ts'

test('a slot without page and default for a URL is null and is reported once', (t) => {
  const site = scanFiles(t, ['app/layout.tsx', 'app/@modal/page.tsx', 'app/page.tsx', 'app/a/page.tsx', 'app/b/page.tsx'])
  assert.deepEqual(site.tree('/a'), {
    segment: '',
    layout: 'app/layout.tsx',
    slots: { children: { segment: 'a', page: 'app/a/page.tsx' }, modal: null },
  })
  assert.deepEqual(site.problems, ['warning app/@modal: has no default.* for /a and 1 more: answered with not-found'])
})

test('a slot shows its own page where it has one and its default elsewhere, without its layout', (t) => {
  const site = scanFiles(t, [
    'app/shop/layout.tsx',
    'app/shop/page.tsx',
    'app/shop/[id]/page.tsx',
    'app/shop/@cart/layout.tsx',
    'app/shop/@cart/page.tsx',
    'app/shop/@cart/default.tsx',
  ])
  const shop = (children: object, cart: object) => ({
    segment: '',
    slots: { children: { segment: 'shop', layout: 'app/shop/layout.tsx', ...children, slots: { ...slotsOf(children), cart } } },
  })
  const slotsOf = (node: object) => ('slots' in node ? (node.slots as object) : {})
  assert.deepEqual(
    site.tree('/shop'),
    shop(
      { page: 'app/shop/page.tsx' },
      { segment: '@cart', layout: 'app/shop/@cart/layout.tsx', page: 'app/shop/@cart/page.tsx' },
    ),
  )
  assert.deepEqual(
    site.tree('/shop/[id]'),
    shop(
      { slots: { children: { segment: '[id]', param: 'id', page: 'app/shop/[id]/page.tsx' } } },
      { segment: '@cart', default: 'app/shop/@cart/default.tsx' },
    ),
  )
  assert.deepEqual(site.problems, [])
})

test('a slot follows the URL below its layout, through groups too', (t) => {
  const site = scanFiles(t, [
    'app/layout.tsx',
    'app/(main)/team/[id]/page.tsx',
    'app/@side/(g)/team/[id]/page.tsx',
    'app/@side/default.tsx',
  ])
  assert.deepEqual(site.routes, ['page /team/[id] app/(main)/team/[id]/page.tsx'])
  const team = (file: string) => ({ segment: 'team', slots: { children: { segment: '[id]', param: 'id', page: file } } })
  assert.deepEqual(site.tree('/team/[id]'), {
    segment: '',
    layout: 'app/layout.tsx',
    slots: {
      children: { segment: '(main)', slots: { children: team('app/(main)/team/[id]/page.tsx') } },
      side: {
        segment: '@side',
        slots: { children: { segment: '(g)', slots: { children: team('app/@side/(g)/team/[id]/page.tsx') } } },
      },
    },
  })
})

test('a URL that only a slot has is served where children have a default, and otherwise reported', (t) => {
  const files = ['app/layout.tsx', 'app/@modal/photo/page.tsx', 'app/@modal/default.tsx']
  const without = scanFiles(t, files)
  assert.deepEqual(without.routes, [])
  assert.deepEqual(without.problems, [
    'warning app/@modal/photo/page.tsx: /photo has a page in a slot only; without a default.* beside the layout it is not served',
  ])
  const site = scanFiles(t, [...files, 'app/default.tsx'])
  assert.deepEqual(site.tree('/photo'), {
    segment: '',
    layout: 'app/layout.tsx',
    default: 'app/default.tsx',
    slots: { modal: { segment: '@modal', slots: { children: { segment: 'photo', page: 'app/@modal/photo/page.tsx' } } } },
  })
})

test('a catch-all in a slot shows for every URL that it covers, with its parameter', (t) => {
  const site = scanFiles(t, [
    'app/layout.tsx',
    'app/docs/[topic]/page.tsx',
    'app/docs/page.tsx',
    'app/@crumbs/docs/[...path]/page.tsx',
    'app/@crumbs/default.tsx',
    'app/@tags/[[...tags]]/page.tsx',
  ])
  const match = compileRoutes(site.manifest).match('/docs/a%20b')
  assert.ok(match && !('redirect' in match && match.redirect !== undefined))
  assert.equal(match.route.file, `${site.root}/app/docs/[topic]/page.tsx`)
  assert.deepEqual(match.params, { topic: 'a b', path: ['a b'], tags: ['docs', 'a b'] })
  assert.deepEqual(site.problems, [])
  assert.deepEqual(site.tree('/docs'), {
    segment: '',
    layout: 'app/layout.tsx',
    slots: {
      children: { segment: 'docs', page: 'app/docs/page.tsx' },
      crumbs: { segment: '@crumbs', default: 'app/@crumbs/default.tsx' },
      tags: {
        segment: '@tags',
        slots: { children: { segment: '[[...tags]]', param: 'tags', page: 'app/@tags/[[...tags]]/page.tsx' } },
      },
    },
  })
})

test('a catch-all page fills children when only a slot has the URL', (t) => {
  const site = scanFiles(t, ['app/layout.tsx', 'app/[...all]/page.tsx', 'app/@modal/login/page.tsx', 'app/@modal/default.tsx'])
  const match = compileRoutes(site.manifest).match('/login')
  assert.ok(match && match.redirect === undefined)
  assert.deepEqual(match.params, { all: ['login'] })
  assert.deepEqual(site.tree('/login'), {
    segment: '',
    layout: 'app/layout.tsx',
    slots: {
      children: { segment: '[...all]', param: 'all', page: 'app/[...all]/page.tsx' },
      modal: { segment: '@modal', slots: { children: { segment: 'login', page: 'app/@modal/login/page.tsx' } } },
    },
  })
})

test('head images and the web manifest are with their segment, robots and sitemaps are not', (t) => {
  const site = scanFiles(t, {
    'app/favicon.ico': '',
    'app/robots.ts': '',
    'app/sitemap.xml': '',
    'app/manifest.json': '',
    'app/blog/[slug]/opengraph-image.tsx': '',
    'app/blog/[slug]/page.tsx': '',
  })
  assert.deepEqual(site.tree('/blog/[slug]'), {
    segment: '',
    metadata: ['/favicon.ico', '/manifest.json'],
    slots: {
      children: {
        segment: 'blog',
        slots: {
          children: {
            segment: '[slug]',
            param: 'slug',
            page: 'app/blog/[slug]/page.tsx',
            metadata: ['/blog/[slug]/opengraph-image'],
          },
        },
      },
    },
  })
})
