import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest, problemText } from '../src/manifest/parse-manifest.ts'
import { scanFiles } from './temp-site.ts'

test('a manifest that is damaged is refused with the name of the field', (t) => {
  const { manifest } = scanFiles(t, ['app/[id]/page.tsx', 'app/icon.png', 'middleware.ts'])
  const [first] = manifest.routes
  const cases: [unknown, string][] = [
    [null, 'manifest: expected object, got null'],
    [{ ...manifest, version: 1 }, 'manifest.version: expected string, got number'],
    [{ ...manifest, routes: {} }, 'manifest.routes: expected array, got object'],
    [
      { ...manifest, routes: [{ ...first, kind: 'x' }] },
      'manifest.routes[0].kind: expected page | handler | metadata, got string',
    ],
    [{ ...manifest, routes: [{ ...first, tree: 'x' }] }, 'manifest.routes[0].tree: expected object, got string'],
    [
      { ...manifest, routes: [{ ...first, segments: [{ kind: 'static', name: 'x' }] }] },
      'manifest.routes[0].segments[0].value: expected string, got undefined',
    ],
    [
      { ...manifest, routes: [{ ...first, slotParams: [{}] }] },
      'manifest.routes[0].slotParams[0].name: expected string, got undefined',
    ],
    [{ ...manifest, notFound: undefined }, 'manifest.notFound: expected object, got undefined'],
    [{ ...manifest, problems: [{}] }, 'manifest.problems[0].severity: expected error | warning, got undefined'],
  ]
  for (const [value, message] of cases) assert.throws(() => parseManifest(value), { code: 'CORE_PROTOCOL', message })
})

test('a manifest that crossed a boundary is the same', (t) => {
  for (const files of [['app/[id]/page.tsx', 'app/icon.png', 'middleware.ts', 'app/(.)x/page.tsx'], ['public/a.html']]) {
    const { manifest } = scanFiles(t, files)
    assert.deepEqual(parseManifest(JSON.parse(JSON.stringify(manifest))), manifest)
  }
})

test('a problem is one line', () => {
  assert.equal(problemText({ severity: 'error', file: '/a', message: 'is odd' }), '/a: is odd')
  assert.equal(problemText({ severity: 'error', file: '/a', message: 'is odd', related: ['/b', '/c'] }), '/a: is odd (/b, /c)')
})
