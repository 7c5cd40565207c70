import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileMiddlewareMatcher, type MatcherRequest } from '../src/matcher/middleware-matcher.ts'
import { compileWholeRegex } from '../src/matcher/path-pattern.ts'

const noFacts: MatcherRequest = { host: 'a.example', header: () => undefined, cookie: () => undefined, query: () => undefined }

function compile(matcher: unknown) {
  return compileMiddlewareMatcher({ file: '/site/middleware.ts', matcher })
}

/** Which of the paths a matcher takes. */
function taken(matcher: unknown, paths: readonly string[]): string[] {
  const matches = compile(matcher)
  return paths.filter((path) => matches(path, noFacts))
}

test('a matcher that is not understood is an error naming file, entry and position', () => {
  const cases: [unknown, string][] = [
    [7, 'config.matcher must be a string or an object'],
    [['/a', null], 'config.matcher[1] must be a string or an object'],
    ['about', 'config.matcher must begin with "/" ("about")'],
    [{ source: 5 }, 'config.matcher.source must be a string'],
    [{ source: '/a', hsa: [] }, 'config.matcher has an unknown key "hsa"'],
    [{ source: '/a', has: {} }, 'config.matcher.has must be a list'],
    [
      { source: '/a', has: [{ type: 'body', key: 'x' }] },
      'config.matcher.has[0].type must be "header", "cookie", "query" or "host"',
    ],
    [{ source: '/a', has: [{ type: 'header' }] }, 'config.matcher.has[0].key must be a string'],
    [{ source: '/a', missing: [{ type: 'host' }] }, 'config.matcher.missing[0] needs a value'],
    [{ source: '/a', has: [{ type: 'query', key: 'q', value: 1 }] }, 'config.matcher.has[0].value must be a string'],
    ['/a/(b', 'config.matcher cannot be used: missing ")" at position 6 of "/a/(b"'],
    ['/a*', 'config.matcher cannot be used: unexpected "*" at position 3 of "/a*"'],
    ['/:', 'config.matcher cannot be used: a parameter without a name at position 2 of "/:"'],
    ['/{a', 'config.matcher cannot be used: missing "}" at position 4 of "/{a"'],
    ['/(?:a)', 'config.matcher cannot be used: "(?:a)" is not a pattern at position 6 of "/(?:a)"'],
    ['/([a)', 'config.matcher cannot be used: missing "]" at position 3 of "[a"'],
    ['/(a**)', 'config.matcher cannot be used: a quantifier follows a quantifier at position 3 of "a**"'],
    ['/(a(?<=b))', 'config.matcher cannot be used: this kind of group is not supported at position 4 of "a(?<=b)"'],
    ['/((?:a)\\1)', 'config.matcher cannot be used: back-references are not supported at position 7 of "(?:a)\\1"'],
    ['/(\\qx)', 'config.matcher cannot be used: \\q is not supported at position 3 of "\\qx"'],
    ['/(a{3,2})', 'config.matcher cannot be used: numbers out of order in {} quantifier at position 7 of "a{3,2}"'],
    ['/(a{1001})', 'config.matcher cannot be used: number too big in {} quantifier at position 8 of "a{1001}"'],
    ['/((?:(?:a{100}){100}))', 'config.matcher cannot be used: the pattern is too large'],
    ['/((?:(?:(?:(?:){100}){100}){100}){100})', 'config.matcher cannot be used: the pattern is too large'],
    [Array.from({ length: 65 }, () => '/a'), 'config.matcher has more than 64 entries'],
  ]
  for (const [matcher, message] of cases) {
    assert.throws(() => compile(matcher), { code: 'SITE_BAD_MATCHER', message: `/site/middleware.ts: ${message}` })
  }
  const deep = `/(${'(?:'.repeat(300)}${')'.repeat(300)})`
  assert.throws(() => compile(deep), /nested too deep/)
})

test('without a matcher every path is taken, with an empty list none', () => {
  assert.equal(compile(null)('/anything', noFacts), true)
  assert.equal(compile(undefined)('/', noFacts), true)
  assert.equal(compile([])('/', noFacts), false)
})

test('plain paths match whole, with and without a slash at the end, in their case', () => {
  const paths = ['/', '/about', '/about/', '/about/us', '/About', '/abouts', '/x/about']
  assert.deepEqual(taken('/about', paths), ['/about', '/about/'])
  assert.deepEqual(taken('/', paths), ['/'])
  assert.deepEqual(taken(['/', { source: '/abouts' }], paths), ['/', '/abouts'])
})

test('parameters, modifiers, groups and escapes have the meaning of path-to-regexp', () => {
  const paths = ['/blog', '/blog/', '/blog/a', '/blog/a/b', '/blog/a.json', '/blog-x', '/blog/12']
  assert.deepEqual(taken('/blog/:path*', paths), ['/blog', '/blog/', '/blog/a', '/blog/a/b', '/blog/a.json', '/blog/12'])
  assert.deepEqual(taken('/blog/:path+', paths), ['/blog/a', '/blog/a/b', '/blog/a.json', '/blog/12'])
  assert.deepEqual(taken('/blog/:id', paths), ['/blog/a', '/blog/a.json', '/blog/12'])
  assert.deepEqual(taken('/blog/:id?', paths), ['/blog', '/blog/', '/blog/a', '/blog/a.json', '/blog/12'])
  assert.deepEqual(taken('/blog/:id(\\d{1,})', paths), ['/blog/12'])
  assert.deepEqual(taken('/blog/:name.json', paths), ['/blog/a.json'])
  assert.deepEqual(taken('/blog{-:x}?', paths), ['/blog', '/blog/', '/blog-x'])
  assert.deepEqual(taken('/(blog|news)(.*)', paths), paths)
  assert.deepEqual(taken('/blog\\-x', paths), ['/blog-x'])
})

test('the usual negative patterns leave out what they name', () => {
  const paths = [
    '/',
    '/a',
    '/api',
    '/api/x',
    '/apis',
    '/_next/static/x.js',
    '/favicon.ico',
    '/docs/favicon.ico',
    '/b/style.css',
    '/x.json',
  ]
  assert.deepEqual(taken('/((?!api|_next/static|_next/image|favicon.ico).*)', paths), [
    '/',
    '/a',
    '/docs/favicon.ico',
    '/b/style.css',
    '/x.json',
  ])
  assert.deepEqual(taken('/((?!api|.*\\.).*)', paths), ['/', '/a'])
  const assets = '/((?!_next|[^?]*\\.(?:html?|css|js(?!on)|jpe?g|webp|png|gif|svg|ttf|woff2?|ico)).*)'
  assert.deepEqual(taken([assets, '/(api|trpc)(.*)'], paths), ['/', '/a', '/api', '/api/x', '/apis', '/x.json'])
})

test('an escaped spelling of a path does not get around a matcher', () => {
  assert.deepEqual(taken('/ädmin/:path*', ['/%C3%A4dmin', '/%C3%A4dmin/x%2Fy', '/%FF']), ['/%C3%A4dmin', '/%C3%A4dmin/x%2Fy'])
  assert.deepEqual(taken('/%C3%A4dmin', ['/%C3%A4dmin']), ['/%C3%A4dmin'])
})

test('has and missing look at header, cookie, query and host', () => {
  const matches = compile({
    source: '/:path*',
    has: [
      { type: 'header', key: 'X-Kind', value: 'a|b' },
      { type: 'query', key: 'draft' },
      { type: 'host', value: '(?<sub>[a-z]+)\\.example' },
    ],
    missing: [{ type: 'cookie', key: 'session' }],
  })
  const facts = (
    header: string | undefined,
    query: string | undefined,
    host: string,
    cookie: string | undefined,
  ): MatcherRequest => ({
    host,
    header: (name) => (name === 'x-kind' ? header : undefined),
    query: (name) => (name === 'draft' ? query : undefined),
    cookie: (name) => (name === 'session' ? cookie : undefined),
  })
  assert.equal(matches('/p', facts('a', '1', 'www.example', undefined)), true)
  assert.equal(matches('/p', facts('b', '1', 'www.example', '')), true)
  assert.equal(matches('/p', facts('ab', '1', 'www.example', undefined)), false)
  assert.equal(matches('/p', facts(undefined, '1', 'www.example', undefined)), false)
  assert.equal(matches('/p', facts('a', undefined, 'www.example', undefined)), false)
  assert.equal(matches('/p', facts('a', '1', 'www2.example', undefined)), false)
  assert.equal(matches('/p', facts('a', '1', 'www.example', 'abc')), false)
})

test('matching agrees with the RegExp of the engine', () => {
  const sources = [
    '',
    'a',
    '(a|b)*c',
    '(?:a?b?)*',
    '(?:(?:a*)*b)*a',
    '(?:a*)+$',
    '[^a-b]+',
    '[\\]a-]*',
    'a{2,3}?b{0,}',
    '(?!ab).*',
    '(?:(?!ab)[abc])*',
    '(?=a).(?=b|$).*',
    '(?:(?!(?=a)a).)*',
    '\\w+\\W?\\s*\\d*',
    '^a|b$',
    'a^b',
    'a$b',
    '\\x61\\u0062?',
    '.+',
    '\\.|\\/',
    '{a',
    '\\bab?\\b.*',
    '.*(?!b)a.*(?!c)',
    '(?:a(?!b|$)|b(?=c?a))*.?',
    '(?!.*(?:b|c)$).*',
    '(?<x>a)|(?<y>b)',
    '[^]',
    'a[]|b',
    '[\\u00e4-\\u0142]+',
    '\\cJ',
    '[^\\W\\d]+',
  ]
  const texts = [
    '',
    'a',
    'b',
    'c',
    'ab',
    'ba',
    'aab',
    'abc',
    'aaabbb',
    'acb',
    'cab',
    'aba',
    ']a-',
    ' ',
    'a 1',
    '\n',
    '.',
    '/',
    '{a',
    'bcbca',
    '\u00e4\u0142',
    'cc',
  ]
  for (const source of sources) {
    const expected = new RegExp(`^(?:${source})$`)
    const matches = compileWholeRegex(source)
    for (const text of texts) assert.equal(matches(text), expected.test(text), `${source} on ${JSON.stringify(text)}`)
  }
})

test('random patterns, with look-aheads anywhere, match what the RegExp of the engine matches', () => {
  let state = 11
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  const pick = (...items: readonly string[]) => items[below(items.length)] ?? ''
  const choice = (depth: number): string =>
    Array.from({ length: 1 + below(2) }, () => Array.from({ length: 1 + below(3) }, () => item(depth)).join('')).join('|')
  const item = (depth: number): string => {
    const kind = depth === 0 ? 0 : below(6)
    if (kind === 1) return `(?!${choice(depth - 1)})`
    if (kind === 2) return `(?=${choice(depth - 1)})`
    const atom =
      kind === 3 ? `(${choice(depth - 1)})` : pick('a', 'b', '/', '.', '[ab]', '[^a]', '\\w', '\\b', '^', '$', '\\.', '[^\\s/]')
    const canRepeat = !/^(?:\\b|\^|\$)$/.test(atom)
    return canRepeat ? atom + pick('', '', '*', '+', '?', '*?', '{1,2}', '{2}') : atom
  }
  const texts = Array.from({ length: 40 }, () => Array.from({ length: below(7) }, () => pick('a', 'b', '/', '.', ' ')).join(''))
  let taken = 0
  for (let i = 0; i < 400; i++) {
    const source = choice(3)
    const expected = new RegExp(`^(?:${source})$`)
    const matches = compileWholeRegex(source)
    for (const text of texts) {
      if (expected.test(text)) taken++
      assert.equal(matches(text), expected.test(text), `${source} on ${JSON.stringify(text)}`)
    }
  }
  assert.ok(taken > 800, `only ${taken} matches`)
})

test('answers are the same when more paths were asked for than are remembered', () => {
  const matches = compile('/a/:id(\\d*[02468])')
  for (const round of [0, 1]) {
    for (let i = 0; i < 2000; i++) assert.equal(matches(`/a/${i}`, noFacts), i % 2 === 0, `${i} in round ${round}`)
  }
  const long = `/a/${'1'.repeat(1000)}`
  assert.deepEqual(
    [matches(`${long}2`, noFacts), matches(`${long}1`, noFacts), matches(`${long}2`, noFacts)],
    [true, false, true],
  )
})

test('patterns that take exponential time elsewhere end', () => {
  const long = `${'a'.repeat(4000)}!`
  for (const source of ['(?:a+)+', '(?:a|a)*', '(?:a*)*b', '(?:.*a){20}', '(?:(?!(?:a|a)*c)a)*']) {
    assert.equal(compileWholeRegex(source)(long), false, source)
  }
})
