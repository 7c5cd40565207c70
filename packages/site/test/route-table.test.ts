import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PatternSegment, Route, SiteManifest } from '../src/manifest/manifest.ts'
import { fillPattern, spellPattern } from '../src/manifest/pattern.ts'
import { compileRoutes, type RouteTable } from '../src/routing/route-table.ts'
import { isPatternSegment, parseSegmentName } from '../src/tree/segment-name.ts'

function parsePattern(pattern: string): PatternSegment[] {
  const names = pattern.split('/').filter((part) => part !== '')
  return names.map((part) => {
    const name = parseSegmentName(part)
    assert.ok(isPatternSegment(name), part)
    return name
  })
}

function manifestOf(patterns: readonly string[]): SiteManifest {
  const routes = patterns.map((pattern): Route => {
    const base = { id: `page:${pattern}`, pattern, segments: parsePattern(pattern), file: `/site/app${pattern}/page.tsx` }
    return { ...base, kind: 'page', tree: null, metadata: null, slotParams: [], hasStaticParams: false }
  })
  const rest = { root: '/site', appDir: '/site/app', publicDir: '/site/public' }
  return { version: 'v', ...rest, routes, middleware: null, notFound: null, globalError: null, problems: [], refusal: null }
}

/** "pattern params", "-> redirect" or "none". */
function show(table: RouteTable, path: string): string {
  const match = table.match(path)
  if (match === undefined) return 'none'
  if (match.redirect !== undefined) return `-> ${match.redirect}`
  return `${match.route.pattern} ${JSON.stringify(match.params)}`
}

test('paths that are malformed match nothing, not even a catch-all', () => {
  const table = compileRoutes(manifestOf(['/', '/[[...all]]']))
  for (const path of ['', 'a', '*', '//evil.example/', '/a//b', '/a//', '/%', '/a/%zz', '/%ff', '/%C3/x', '/%80/']) {
    assert.equal(show(table, path), 'none', path)
  }
})

test('static goes before dynamic, catch-all and optional catch-all, segment by segment, with a way back', () => {
  const table = compileRoutes(
    manifestOf(['/', '/a', '/a/b', '/[x]', '/[x]/c', '/a/[y]/d', '/[...all]', '/o/[[...rest]]', '/o/p/[...more]']),
  )
  const cases: [string, string][] = [
    ['/', '/ {}'],
    ['/a', '/a {}'],
    ['/a/b', '/a/b {}'],
    ['/a/c', '/[x]/c {"x":"a"}'],
    ['/a/b/d', '/a/[y]/d {"y":"b"}'],
    ['/a/b/e', '/[...all] {"all":["a","b","e"]}'],
    ['/q', '/[x] {"x":"q"}'],
    ['/q/r', '/[...all] {"all":["q","r"]}'],
    ['/o', '/o/[[...rest]] {}'],
    ['/o/p', '/o/[[...rest]] {"rest":["p"]}'],
    ['/o/p/q/r', '/o/p/[...more] {"more":["q","r"]}'],
  ]
  for (const [path, expected] of cases) assert.equal(show(table, path), expected, path)
})

test('parameters and static parts are percent-decoded, each segment for itself', () => {
  const table = compileRoutes(manifestOf(['/über uns', '/100%', '/p/[x]', '/q/[...xs]', '/+/[x]']))
  const cases: [string, string][] = [
    ['/%C3%BCber%20uns', '/über uns {}'],
    ['/100%25', '/100% {}'],
    ['/100%', 'none'],
    ['/p/a%2Fb%3Fc', '/p/[x] {"x":"a/b?c"}'],
    ['/p/%E2%82%AC', '/p/[x] {"x":"€"}'],
    ['/p/a+b', '/p/[x] {"x":"a+b"}'],
    ['/q/%2F/%2E%2E', '/q/[...xs] {"xs":["/",".."]}'],
    ['/+/%2525', '/+/[x] {"x":"%25"}'],
  ]
  for (const [path, expected] of cases) assert.equal(show(table, path), expected, path)
})

test('a slash at the end redirects where the path without it has a route', () => {
  const table = compileRoutes(manifestOf(['/', '/a', '/b/[x]']))
  assert.equal(show(table, '/a/'), '-> /a')
  assert.equal(show(table, '/b/%41/'), '-> /b/%41')
  assert.equal(show(table, '/c/'), 'none')
  assert.equal(show(table, '/'), '/ {}')
  assert.equal(show(table, '//evil.example/a/'), 'none')
})

test('only routes without parameters are static', () => {
  const table = compileRoutes(manifestOf(['/health', '/api/[x]', '/[...all]', '/é']))
  assert.deepEqual(
    ['/health', '/%C3%A9', '/api/logs', '/metrics', '/health/', '/'].map((path) => table.isStaticRoute(path)),
    [true, true, false, false, false, false],
  )
})

test('parameters cannot reach the prototype of the result', () => {
  const table = compileRoutes(manifestOf(['/[constructor]/[toString]']))
  const match = table.match('/a/__proto__')
  assert.ok(match && match.redirect === undefined)
  assert.deepEqual(match.params, { constructor: 'a', toString: '__proto__' })
})

test('a pattern is filled with encoded parameters', () => {
  assert.equal(fillPattern('/', {}), '/')
  assert.equal(fillPattern('/ü/[x]/[...ys]', { x: 'a/b', ys: ['1 2', '3'] }), '/%C3%BC/a%2Fb/1%202/3')
  assert.equal(fillPattern('/o/[[...rest]]', {}), '/o')
})

/** The same question answered the slow way: all patterns that fit, the most specific by kind of segment, left to right. */
function reference(patterns: readonly string[], path: readonly string[]): string | undefined {
  const rank = { static: 0, dynamic: 1, 'catch-all': 2, 'optional-catch-all': 3 } as const
  const fits = patterns.map(parsePattern).filter((segments) => {
    const last = segments.at(-1)?.kind
    const fixed = last === 'catch-all' || last === 'optional-catch-all' ? segments.slice(0, -1) : segments
    if (fixed.some((segment, i) => path[i] === undefined || (segment.kind === 'static' && segment.value !== path[i])))
      return false
    if (last === 'catch-all') return path.length > fixed.length
    return last === 'optional-catch-all' || path.length === fixed.length
  })
  const keyOf = (segments: readonly PatternSegment[]) => segments.map((segment) => rank[segment.kind]).join('')
  const [best] = fits.sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
  return best === undefined ? undefined : spellPattern(best)
}

/** A small generator of numbers that are the same in every run. */
function randomSource(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('matching agrees with a naive search over all patterns', () => {
  const random = randomSource(20_26)
  const words = ['a', 'b', 'c']
  for (let round = 0; round < 300; round++) {
    const patterns = new Set<string>()
    for (let i = 0; i < 12; i++) {
      const parts = Array.from({ length: random(4) }, (_, depth) => (random(3) === 0 ? `[p${depth}]` : words[random(3)]))
      const ending = random(5)
      if (ending === 0) parts.push(`[...r${parts.length}]`)
      if (ending === 1) parts.push(`[[...r${parts.length}]]`)
      patterns.add(`/${parts.join('/')}`)
    }
    const list = [...patterns]
    const table = compileRoutes(manifestOf(list))
    for (let i = 0; i < 40; i++) {
      const path = Array.from({ length: random(5) }, () => words[random(3)] ?? 'a')
      const match = table.match(`/${path.join('/')}`)
      const found = match === undefined || match.redirect !== undefined ? undefined : match.route.pattern
      assert.equal(found, reference(list, path), `/${path.join('/')} in ${list.join(' ')}`)
    }
  }
})
