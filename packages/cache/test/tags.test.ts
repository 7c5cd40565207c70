import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  globPrefix,
  parseTagTerm,
  pathTag,
  purgePath,
  responseTags,
  scopeOfPattern,
  tagMatcher,
  tagsOfTerm,
} from '../src/index.ts'

const globs: ReadonlyArray<readonly [glob: string, yes: readonly string[], no: readonly string[]]> = [
  ['', [''], ['a']],
  ['*', ['', 'route:a:b'], []],
  ['a*', ['a', 'ab'], ['ba']],
  ['*a', ['a', 'ba'], ['ab']],
  ['a*a', ['aa', 'aba'], ['a', 'ab']],
  ['route:*:posts', ['route:a:posts', 'route:a:b:posts'], ['route:posts', 'route:a:posts2']],
  ['a*b*c', ['abc', 'a1b2c', 'abbc'], ['acb', 'ab', 'ac']],
  ['ab*ba', ['abba', 'abxba'], ['aba']],
  ['a\\*b', ['a*b'], ['ab', 'axb']],
  ['a\\*', ['a*'], ['ab', 'a\\b']],
  ['a\\b', ['a\\b'], ['ab']],
  ['/blog/[slug]', ['/blog/[slug]'], ['/blog/s']],
  ['a**b', ['ab', 'axb'], ['a']],
  ['.+', ['.+'], ['ab']],
]

for (const [glob, yes, no] of globs) {
  test(`the glob ${JSON.stringify(glob)} matches what it says`, () => {
    const isMatch = tagMatcher(glob)
    for (const tag of yes) assert.equal(isMatch(tag), true, tag)
    for (const tag of no) assert.equal(isMatch(tag), false, tag)
    for (const tag of yes) assert.ok(tag.startsWith(globPrefix(glob)))
  })
}

test('a glob of very many stars costs a tag no more than one star', (t) => {
  const isMatch = tagMatcher(`route:${'*'.repeat(10_000)}:posts${'*'.repeat(10_000)}`)
  const { mock } = t.mock.method(String.prototype, 'indexOf')
  assert.equal(isMatch('route:shop:posts:1'), true)
  assert.equal(mock.callCount(), 1)
})

test('a glob agrees with a backtracking matcher on short texts', () => {
  const naive = (glob: string, text: string): boolean => {
    if (glob === '') return text === ''
    if (glob[0] === '*') return naive(glob.slice(1), text) || (text !== '' && naive(glob, text.slice(1)))
    return text !== '' && glob[0] === text[0] && naive(glob.slice(1), text.slice(1))
  }
  const words = (alphabet: string, length: number): string[] =>
    length === 0 ? [''] : ['', ...words(alphabet, length - 1).flatMap((word) => [...alphabet].map((letter) => letter + word))]
  const texts = new Set(words('ab', 4))
  for (const glob of new Set(words('ab*', 4))) {
    for (const text of texts) assert.equal(tagMatcher(glob)(text), naive(glob, text), `${glob} ~ ${text}`)
  }
})

test('paths become tags decoded and without trailing slash', () => {
  assert.equal(pathTag('a', '/'), 'route:a:/')
  assert.equal(pathTag('a', '/blog/'), 'route:a:/blog')
  assert.equal(pathTag('a', '/caf%C3%A9'), 'route:a:/café')
  assert.equal(pathTag('a', '/%FF'), 'route:a:/%FF', 'no UTF-8')
})

test('a response carries its path, its pattern and the tags of the site, each once', () => {
  assert.deepEqual(responseTags('a', '/x', '/[slug]', ['posts', 'posts']), ['route:a:/x', 'route:a:/[slug]', 'route:a:posts'])
  assert.deepEqual(responseTags('a', '/x', '/x', []), ['route:a:/x'])
  assert.deepEqual(responseTags('a', '/x', '', []), ['route:a:/x'])
})

const labels = new Set(['shop', 'docs'])
const terms: ReadonlyArray<readonly [text: string, label: string | null, name: string]> = [
  ['posts', null, 'posts'],
  ['route:posts', null, 'posts'],
  ['route:shop:posts', 'shop', 'posts'],
  ['route:nosuch:posts', null, 'nosuch:posts'],
  ['shop:posts', null, 'shop:posts'],
  ['route:shop:a:b', 'shop', 'a:b'],
  ['route:shop', null, 'shop'],
  ['route:/blog/', null, '/blog'],
  ['route:shop:/', 'shop', '/'],
]

for (const [text, label, name] of terms) {
  test(`the term ${text} is read`, () => assert.deepEqual(parseTagTerm(text, labels), { label, name }))
}

test('a term without a name is none', () => {
  for (const text of ['', 'route:', 'route:shop:']) assert.equal(parseTagTerm(text, labels), undefined, text)
})

test('a term names tags of those sites only that the caller may touch', () => {
  assert.deepEqual(tagsOfTerm({ label: null, name: 'posts' }, ['shop', 'docs']), ['route:shop:posts', 'route:docs:posts'])
  assert.deepEqual(tagsOfTerm({ label: 'shop', name: 'posts' }, ['docs']), [])
})

test('patterns become the widest scope that they are', () => {
  assert.deepEqual(scopeOfPattern('*', null), { kind: 'everything' })
  assert.deepEqual(scopeOfPattern('*', ['shop']), { kind: 'labels', labels: ['shop'] })
  assert.deepEqual(scopeOfPattern('route:shop:*', null), { kind: 'labels', labels: ['shop'] })
  assert.deepEqual(scopeOfPattern('route:shop:*', ['docs']), { kind: 'labels', labels: [] })
  assert.deepEqual(scopeOfPattern('route:sh\\*p:*', null), { kind: 'pattern', pattern: 'route:sh\\*p:*', labels: null })
  assert.deepEqual(scopeOfPattern('route:shop:/b*', ['shop']), { kind: 'pattern', pattern: 'route:shop:/b*', labels: ['shop'] })
})

test('paths of a purge are brought into the form of keys', () => {
  assert.equal(purgePath('/a//b/../%7ec'), '/a/~c')
  assert.equal(purgePath('/café au lait'), '/caf%C3%A9%20au%20lait')
  assert.equal(purgePath('/\ud800'), '/%EF%BF%BD', 'a lone surrogate is no reason to fail')
  assert.equal(purgePath('a'), undefined)
  assert.equal(purgePath('/%zz'), undefined)
})
