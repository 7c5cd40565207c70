import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanFiles } from './temp-site.ts'

test('two pages of one URL are an error with both files, and the URL answers with it', (t) => {
  const site = scanFiles(t, ['app/(a)/about/page.tsx', 'app/(b)/about/page.tsx'])
  assert.deepEqual(site.problems, ['error app/(a)/about/page.tsx: two pages answer /about + app/(b)/about/page.tsx'])
  assert.deepEqual(site.routes, ['page /about app/(a)/about/page.tsx'])
  const [route] = site.manifest.routes
  assert.equal(
    route?.problem,
    `two pages answer /about: ${site.root}/app/(a)/about/page.tsx, ${site.root}/app/(b)/about/page.tsx`,
  )
})

test('a page and a route handler in one segment or in two groups are an error', (t) => {
  assert.deepEqual(scanFiles(t, ['app/a/page.tsx', 'app/a/route.ts']).problems, [
    'error app/a/page.tsx: a page and a route handler both answer /a + app/a/route.ts',
  ])
  assert.deepEqual(scanFiles(t, ['app/(x)/a/page.tsx', 'app/(y)/a/route.ts']).problems, [
    'error app/(x)/a/page.tsx: a page and a route handler both answer /a + app/(y)/a/route.ts',
  ])
  assert.deepEqual(scanFiles(t, ['app/(x)/a/route.tsx', 'app/(y)/a/route.ts']).problems, [
    'error app/(x)/a/route.tsx: two route handlers answer /a + app/(y)/a/route.ts',
  ])
})

test('a metadata file and a page of one URL are an error', (t) => {
  assert.deepEqual(scanFiles(t, ['app/robots.txt/route.ts', 'app/robots.ts']).problems, [
    'error app/robots.ts: a metadata file and a route handler both answer /robots.txt + app/robots.txt/route.ts',
  ])
})

test('one slot with two pages for a URL is an error; two slots with a page each are not', (t) => {
  const site = scanFiles(t, ['app/@x/(a)/p/page.tsx', 'app/@x/(b)/p/page.tsx', 'app/@y/p/page.tsx', 'app/p/page.tsx'])
  assert.deepEqual(site.problems, ['error app/@x/(a)/p/page.tsx: two pages answer /p in the slot @x + app/@x/(b)/p/page.tsx'])
})

test('two parameter names of one position are an error, for one URL and for different URLs below it', (t) => {
  assert.deepEqual(scanFiles(t, ['app/u/[id]/page.tsx', 'app/u/[name]/page.tsx']).problems, [
    'error app/u/[id]/page.tsx: /u/[id] and /u/[name] are the same URL + app/u/[name]/page.tsx',
    'error app/u/[id]/page.tsx: one position of the URL has two parameter names, [id] and [name] + app/u/[name]/page.tsx',
  ])
  const site = scanFiles(t, ['app/u/[id]/a/page.tsx', 'app/u/[name]/b/page.tsx'])
  assert.deepEqual(site.problems, [
    'error app/u/[id]/a/page.tsx: one position of the URL has two parameter names, [id] and [name] + app/u/[name]/b/page.tsx',
  ])
  assert.equal(site.manifest.routes.length, 2)
})

test('catch-alls that compete are errors', (t) => {
  assert.deepEqual(scanFiles(t, ['app/d/[...a]/page.tsx', 'app/d/[[...b]]/page.tsx']).problems, [
    'error app/d/[...a]/page.tsx: /d/[...a] and /d/[[...b]] are catch-alls at the same position + app/d/[[...b]]/page.tsx',
  ])
  assert.deepEqual(scanFiles(t, ['app/d/page.tsx', 'app/d/[[...b]]/page.tsx']).problems, [
    'error app/d/page.tsx: /d is also answered by /d/[[...b]] + app/d/[[...b]]/page.tsx',
  ])
  assert.deepEqual(scanFiles(t, ['app/d/[id]/page.tsx', 'app/d/[...all]/page.tsx', 'app/d/x/page.tsx']).problems, [])
})

test('patterns that cannot work are left out with an error', (t) => {
  const cases: [string, string][] = [
    ['app/[...a]/b/page.tsx', 'a catch-all must be the last part of the URL (/[...a]/b)'],
    ['app/[id]/x/[id]/page.tsx', 'the parameter "id" is defined twice (/[id]/x/[id])'],
    ['app/[a-b]/[a_b]/page.tsx', 'x'],
    ['app/[a-b]/[ab]/page.tsx', 'the parameters "a-b" and "ab" differ only in punctuation (/[a-b]/[ab])'],
  ]
  for (const [file, message] of cases) {
    const site = scanFiles(t, [file, 'app/ok/page.tsx'])
    if (message === 'x') assert.deepEqual(site.problems, [])
    else {
      assert.deepEqual(site.problems, [`error ${file}: ${message}`])
      assert.deepEqual(site.routes, ['page /ok app/ok/page.tsx'])
    }
  }
})

test('directory names that cannot be routed are errors, and what is below them is not served', (t) => {
  const cases: [string, string][] = [
    ['(.)photo', 'intercepting routes such as "(.)photo" are not supported'],
    ['(..)photo', 'intercepting routes such as "(..)photo" are not supported'],
    ['(..)(..)photo', 'intercepting routes such as "(..)(..)photo" are not supported'],
    ['(...)photo', 'intercepting routes such as "(...)photo" are not supported'],
    ['[[id]]', 'optional parameters such as "[[id]]" do not exist; only [[...id]] does'],
    ['[]', '"[]" has no parameter name'],
    ['[...]', '"[...]" has no parameter name'],
    ['[__proto__]', '"[__proto__]" has no parameter name'],
    ['[..id]', 'parameter names must not begin with a full stop ("[..id]")'],
    ['[…id]', '"[…id]" contains an ellipsis character instead of three dots'],
    ['[[...id]', 'the brackets of "[[...id]" do not pair up'],
    ['[[...id]]]', 'parameter names must not contain brackets ("[[...id]]]")'],
    ['[id].json', 'a parameter must be the whole name of a directory ("[id].json")'],
    ['()', 'a route group needs a name'],
    ['@', '"@" cannot be the name of a slot'],
    ['@children', '"@children" cannot be the name of a slot'],
  ]
  for (const [name, message] of cases) {
    const site = scanFiles(t, [`app/${name}/page.tsx`, 'app/page.tsx'])
    assert.deepEqual(site.problems, [`error app/${name}: ${message}`])
    assert.deepEqual(site.routes, ['page / app/page.tsx'])
  }
})

test('a role that two files fill goes to the first of tsx, ts, jsx, js, with an error', (t) => {
  const site = scanFiles(t, ['app/page.js', 'app/page.tsx', 'app/layout.jsx', 'app/layout.ts'])
  assert.deepEqual(site.problems, [
    'error app/layout.jsx: layout is defined twice; this file is not used + app/layout.ts',
    'error app/page.js: page is defined twice; this file is not used + app/page.tsx',
  ])
  assert.deepEqual(site.tree('/'), { segment: '', layout: 'app/layout.ts', page: 'app/page.tsx' })
})
