import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { translatePattern } from '../src/patterns/translate-pattern.ts'

const boundBacktrackingUrl = new URL('../src/patterns/bound-backtracking.ts', import.meta.url)

function translated(text: string, isCaseless = false) {
  const result = translatePattern(text, isCaseless)
  if ('error' in result) assert.fail(`${text}: ${result.error}`)
  return { ...result, regex: new RegExp(result.pattern.source, result.pattern.flags) }
}

/** Pattern, texts that it matches with the captures they give, and texts that it does not match. */
const matches: readonly (readonly [pattern: string, yes: Readonly<Record<string, readonly string[]>>, no: readonly string[]])[] =
  [
    ['\\.php$', { '/a.php': [], '/a.php\n': [] }, ['/a.php/', '/aphp', '/a.php\n\n']],
    ['\\.php\\z', { '/a.php': [] }, ['/a.php\n']],
    ['\\A/a\\Z', { '/a': [], '/a\n': [] }, ['x/a']],
    ['^/(.*)$', { '/a/b': ['a/b'], '/': [''], '/a\n': ['a'] }, ['/a\nb', 'a']],
    ['(?s)^/(.*)$', { '/a\nb': ['a\nb'] }, []],
    ['^/x(/|$)', { '/x': [''], '/x/y': ['/'] }, ['/xy']],
    ['a$|b', { xa: [], bc: [] }, ['ac']],
    ['^/(?<user>[a-z]+)/(?P<page>\\d+)', { '/bob/12': ['bob', '12'] }, ['/Bob/12']],
    ["^/(?'id'\\d+)$", { '/7': ['7'] }, ['/x']],
    ['(?i)^/ABC[x-z]', { '/abcY': [] }, ['/abcw']],
    ['^/(?i:abc)d', { '/ABCd': [] }, ['/ABCD']],
    ['^/a(?i)b(?-i)c', { '/aBc': [] }, ['/aBC', '/Abc']],
    ['(a(?i)b)c', { aBc: ['aB'] }, ['aBC']],
    ['^(?!/admin)(.*)$', { '/public': ['/public'], '/adm': ['/adm'] }, ['/admin', '/admin/x']],
    ['^/(?!admin|static/)(.+)\\.php$', { '/x.php': ['x'] }, ['/admin.php', '/static/x.php']],
    ['^/(?=a)(\\w+)', { '/abc': ['abc'] }, ['/bc']],
    ['^/..(?!x)(.)', { '/abc': ['c'] }, ['/abx']],
    ['^/a(?=/|$)', { '/a': [], '/a/b': [] }, ['/ab']],
    ['(?<!x)y', { ay: [] }, ['xy']],
    ['(?<=x)y', { xy: [] }, ['ay']],
    ['^[[:alpha:]_][[:alnum:]-]*$', { 'a-9': [], _x: [] }, ['9a', 'a b']],
    ['^[^[:space:]]+$', { abc: [] }, ['a b', 'a\tb', 'a\u000bb']],
    ['^[[:^digit:]]$', { a: [] }, ['1']],
    ['\\h\\H\\v\\V\\N\\R', { ' a\nb.\r\n': [] }, ['ab']],
    ['^\\s\\S$', { '\u000bx': [], ' \u00a0': [] }, ['xx', '\u00a0x']],
    ['^\\d+\\w\\D\\W$', { '12_a-': [] }, ['a']],
    ['^[]a]+$', { ']a]': [] }, ['b']],
    ['^[^]a]+$', { bc: [] }, [']']],
    ['^[a\\-z]$', { '-': [] }, ['b']],
    ['^[a-]$', { '-': [], a: [] }, ['b']],
    ['^[\\w.-]+$', { 'a.b-c_d': [] }, ['a/b']],
    ['^[\\s]$', { '\t': [] }, ['\u00a0', 's']],
    ['\\Qa.b*\\E+', { 'a.b*': [], 'a.b**': [] }, ['axb*']],
    ['^a{2}b{1,2}c{2,}$', { aabcc: [], aabbccc: [] }, ['abcc', 'aabc']],
    ['^a{,2}$', { 'a{,2}': [] }, ['a']],
    ['^{x}[{]$', { '{x}{': [] }, []],
    ['^x{3}{2}$', { xxxxxx: [] }, ['xxx']],
    ['^a{20,22}$', { ['a'.repeat(20)]: [], ['a'.repeat(22)]: [] }, ['a'.repeat(19), 'a'.repeat(23)]],
    ['^(?:ab){17,}$', { ['ab'.repeat(17)]: [], ['ab'.repeat(30)]: [] }, ['ab'.repeat(16)]],
    ['^(.+?)\\.(?:a|b)$', { 'x.y.a': ['x.y'] }, ['x.c']],
    ['^(a{20,25}?)(a*)$', { ['a'.repeat(30)]: ['a'.repeat(20), 'a'.repeat(10)] }, []],
    ['\\x41\\x{42}\\103\\0\\cA\\e\\a\\f\\t', { 'ABC\u0000\u0001\u001b\u0007\f\t': [] }, []],
    ['^\\o{101}\\/\\-\\.$', { 'A/-.': [] }, []],
    ['(?x) a b # comment\n c \\ d', { 'abc d': [] }, ['a b c']],
    ['a(?#comment)b', { ab: [] }, ['a']],
    ['(?:)', { '': [] }, []],
    ['', { x: [] }, []],
    ['a||b', { '': [] }, []],
    ['\\bfoo\\b', { 'a foo b': [] }, ['afoo']],
    ['o\\B', { oo: [] }, ['o']],
    ['^/caf\u00c3\u00a9$', { '/caf\u00c3\u00a9': [] }, ['/caf\u00e9']],
  ]

test('patterns match what PCRE matches, byte by byte', () => {
  for (const [text, yes, no] of matches) {
    const { regex } = translated(text)
    for (const [subject, captures] of Object.entries(yes)) {
      const match = regex.exec(subject)
      assert.ok(match !== null, `${text} does not match ${JSON.stringify(subject)}: ${regex.source}`)
      assert.deepEqual(
        match.slice(1).map((capture) => capture ?? ''),
        captures,
        `${text}: ${regex.source}`,
      )
    }
    for (const subject of no) assert.ok(!regex.test(subject), `${text} matches ${JSON.stringify(subject)}: ${regex.source}`)
  }
})

test('letters of both cases are matched without a flag, and only ASCII ones', () => {
  const { regex, pattern } = translated('^/[a-f]x\u00e9\\.JPG$', true)
  assert.equal(pattern.flags, '')
  assert.ok(regex.test('/Fx\u00e9.jpg') && regex.test('/aX\u00e9.JpG'))
  assert.ok(!regex.test('/ax\u00c9.jpg'))
  assert.ok(!translated('[^a]', true).regex.test('A'))
})

test('names of captures are known, and numbers count from the left', () => {
  const { pattern, captures } = translated('(a)(?<b>b)(?:c)(?P<d>(e))')
  assert.deepEqual(pattern.names, ['b', 'd'])
  assert.equal(captures, 4)
})

const refused: readonly (readonly [text: string, error: RegExp])[] = [
  ['(', /^missing "\)"$/],
  ['a)', /^unmatched "\)"$/],
  ['[a', /^missing "\]"$/],
  ['[a\\', /^missing "\]"$/],
  ['a\\', /^\\ at the end of the pattern$/],
  ['*a', /^"\*" has nothing to repeat$/],
  ['a|+', /^"\+" has nothing to repeat$/],
  ['^*', /^an assertion is repeated$/],
  ['(?=a)*', /^an assertion is repeated$/],
  ['a**', /^a quantifier follows a quantifier$/],
  ['a{3,2}', /^numbers out of order/],
  ['a{99999}', /^number too big/],
  ['a{1,99999}', /^number too big/],
  ['a++', /^possessive quantifiers/],
  ['a{2}+', /^possessive quantifiers/],
  ['(?>a)', /^atomic groups/],
  ['(a)\\1', /^back-references/],
  ['(?<a>b)\\k<a>', /^back-references/],
  ['(a)\\g1', /^back-references/],
  ['(?|a)', /^\(\?\|a\)\.\.\.\) is not supported/],
  ['(?R)', /is not supported/],
  ['(?1)', /is not supported/],
  ['(?m)a', /is not supported/],
  ['(?^)a', /is not supported/],
  ['(?P=a)', /is not supported/],
  ['(*FAIL)', /^verbs/],
  ['(?#x', /^missing "\)" after/],
  ['(?<a>b)(?<a>c)', /^two groups have the name "a"$/],
  ['\\p{L}', /^\\p is not supported$/],
  ['\\K', /^\\K is not supported$/],
  ['\\C', /^\\C is not supported$/],
  ['\\y', /^\\y is not supported$/],
  ['\\x{100}', /^a character code is above 255$/],
  ['\\c', /^\\c must be followed/],
  ['[z-a]', /^range out of order/],
  ['[a-\\d]', /^a range of a class ends with a class$/],
  ['[[:nope:]]', /^unknown POSIX class "nope"$/],
  ['[[.a.]]', /^POSIX collating elements/],
  ['('.repeat(300), /^groups are nested too deeply$/],
  ['a(?!b)(c+)+', /^matching it could take unbounded time$/],
  ['.*a.*(?!b).*', /^matching it could take unbounded time$/],
  ['^((?!a+|b).)*c*$', /^matching it could take unbounded time$/],
  ['((?:a{2}){20}x)+', /^matching it could take unbounded time$/],
  ['(a){1,40}(b*)*', /^matching it could take unbounded time$/],
]

test('a pattern that cannot be translated or bounded is rejected with a reason', () => {
  for (const [text, error] of refused) {
    const result = translatePattern(text, false)
    assert.ok('error' in result, text)
    assert.match(result.error, error)
  }
})

/** Runs a script in a process with flags of V8. */
function runWithFlags(flags: readonly string[], script: string): string {
  const args = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '-e', script]
  const run = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 })
  assert.equal(run.status, 0, run.stderr)
  return run.stdout
}

test('the matcher without backtracking accepts every pattern that counts as bounded', () => {
  const sources = matches.flatMap(([text]) => {
    const { pattern, isLinear } = translated(text)
    return isLinear ? [pattern.source] : []
  })
  assert.ok(sources.length > matches.length - 3)
  const script = `for (const source of ${JSON.stringify(sources)}) try { new RegExp(source, 'l') } catch { console.log(source) }`
  assert.equal(runWithFlags(['--enable-experimental-regexp-engine'], script), '')
})

test('a hostile path does not hold up a worker', () => {
  const hostile = [
    ['^(a+)+$', 'a'],
    ['^/(?!admin)(?:[a-z]|[A-Z]|a)*x$', 'a'],
    ['^(?:a|a)*$', 'a'],
    ['(.*)/(.*)/(.*)\\.php$', '/'],
    ['^(?:a{1,10}){1,20}b$', 'a'],
    ['^(\\w+\\s?)+$', 'a'],
    ['^/(.*)\\.((?!ico|gif|js\\b|css).)*x$', '.'],
    ['^/(?!index|updater/.+|.+/code(_arm64)?/proxy)[^/]*x$', 'a'],
  ].map(([text = '', piece]) => [translated(text, true).pattern.source, piece])
  // Ends at all only when they are bounded: with backtracking most of these take longer than the test may.
  const script = `import { boundBacktracking } from ${JSON.stringify(boundBacktrackingUrl.href)}
    boundBacktracking()
    for (const [source, piece] of ${JSON.stringify(hostile)}) new RegExp(source).test('/' + piece.repeat(8000) + '!')`
  assert.equal(runWithFlags([], script), '')
})
