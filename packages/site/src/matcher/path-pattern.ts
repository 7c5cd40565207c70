import { literal, type PatternNode, PatternSyntaxError, parseRegex, repeated, sequence, wholeTextTest } from '@svc/http'
import { SiteError } from '../errors/errors.ts'

/** Paths remembered for one pattern; the paths of a site that are requested often are fewer. */
const MAX_KNOWN = 512
/** Longer paths are not remembered, so that the memory has a bound in bytes too. */
const MAX_KNOWN_LENGTH = 256

/** A piece of a path pattern: plain text, or something variable with what stands before and behind each of its repetitions. */
type Token =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'variable'
      readonly prefix: string
      readonly suffix: string
      /** Regular expression; undefined: the prefix and suffix alone. */
      readonly regex: string | undefined
      readonly modifier: '' | '?' | '*' | '+'
    }

const SEGMENT = '[^/#?]+'

/** Reads the syntax of path-to-regexp 6, which matchers are written in. */
class PathPatternParser {
  readonly #source: string
  #at = 0
  readonly #tokens: Token[] = []
  #text = ''

  constructor(source: string) {
    this.#source = source
  }

  parse(): Token[] {
    while (this.#at < this.#source.length) this.#next()
    this.#endText()
    return this.#tokens
  }

  #fail(what: string): never {
    throw new SiteError('SITE_BAD_PATTERN', `${what} at position ${this.#at + 1} of "${this.#source}"`)
  }

  #next(): void {
    const char = this.#source.charAt(this.#at)
    if (char === '{') this.#braces()
    else if (char === ':' || char === '(') {
      // A "/" or "." before a parameter belongs to it: "/:path*" repeats both.
      const prefix = /[./]$/.exec(this.#text)?.[0] ?? ''
      this.#text = this.#text.slice(0, this.#text.length - prefix.length)
      this.#endText()
      this.#push(prefix, this.#variable(), '')
    } else if ('}*+?)'.includes(char)) this.#fail(`unexpected "${char}"`)
    else this.#text += this.#plain()
  }

  #braces(): void {
    this.#endText()
    this.#at++
    const prefix = this.#textUntilSpecial()
    const regex = this.#isVariable() ? this.#variable() : undefined
    const suffix = this.#textUntilSpecial()
    if (this.#source.charAt(this.#at) !== '}') this.#fail('missing "}"')
    this.#at++
    this.#push(prefix, regex, suffix)
  }

  #push(prefix: string, regex: string | undefined, suffix: string): void {
    const char = this.#source.charAt(this.#at)
    const modifier = char === '?' || char === '*' || char === '+' ? char : ''
    if (modifier !== '') this.#at++
    this.#tokens.push({ kind: 'variable', prefix, suffix, regex, modifier })
  }

  #endText(): void {
    if (this.#text !== '') this.#tokens.push({ kind: 'text', text: this.#text })
    this.#text = ''
  }

  #isVariable(): boolean {
    return ':('.includes(this.#source.charAt(this.#at)) && this.#at < this.#source.length
  }

  #plain(): string {
    if (this.#source.charAt(this.#at) === '\\') this.#at++
    if (this.#at >= this.#source.length) this.#fail('nothing behind "\\"')
    return this.#source.charAt(this.#at++)
  }

  #textUntilSpecial(): string {
    let text = ''
    while (this.#at < this.#source.length && !'{}:()*+?'.includes(this.#source.charAt(this.#at))) text += this.#plain()
    return text
  }

  /** Reads ":name", ":name(regex)" or "(regex)" and returns the regular expression. */
  #variable(): string {
    let isNamed = false
    if (this.#source.charAt(this.#at) === ':') {
      const name = /^\w+/.exec(this.#source.slice(this.#at + 1))?.[0]
      if (name === undefined) this.#fail('a parameter without a name')
      this.#at += 1 + name.length
      isNamed = true
    }
    if (this.#source.charAt(this.#at) !== '(') return isNamed ? SEGMENT : this.#fail('missing "("')
    return this.#regex()
  }

  #regex(): string {
    const start = ++this.#at
    for (let depth = 1; ; this.#at++) {
      const char = this.#source.charAt(this.#at)
      if (char === '') this.#fail('missing ")"')
      if (char === '\\') this.#at++
      else if (char === '(') depth++
      else if (char === ')' && --depth === 0) break
    }
    const regex = this.#source.slice(start, this.#at)
    if (regex === '' || regex.startsWith('?')) this.#fail(`"(${regex})" is not a pattern`)
    this.#at++
    return regex
  }
}

function nodeOf(token: Token): PatternNode {
  if (token.kind === 'text') return literal(token.text)
  const { prefix, suffix, modifier } = token
  const [before, behind] = [literal(prefix), literal(suffix)]
  const one = token.regex === undefined ? literal('') : parse(token.regex)
  const isRepeated = modifier === '*' || modifier === '+'
  if (!isRepeated) {
    const whole = sequence([before, one, behind])
    return modifier === '?' ? repeated(whole, 0, 1) : whole
  }
  const more = repeated(sequence([behind, before, one]), 0, Number.POSITIVE_INFINITY)
  const some = sequence([before, one, more, behind])
  return modifier === '*' ? repeated(some, 0, 1) : some
}

function parse(source: string): PatternNode {
  try {
    return parseRegex(source)
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error
    const message = `${error.message} at position ${error.offset + 1} of "${source}"`
    throw new SiteError('SITE_BAD_PATTERN', message, { cause: error })
  }
}

/** Patterns are written by site authors and run in a process that serves all sites. */
function compileTest(node: PatternNode): (text: string) => boolean {
  const test = wholeTextTest(node)
  if (test === undefined) throw new SiteError('SITE_BAD_PATTERN', 'the pattern is too large')
  return test
}

/**
 * Remembers the results of a test that depends on the path alone. A full memory is cleared, which costs less than keeping an order of
 * use.
 */
function rememberPaths(test: (path: string) => boolean): (path: string) => boolean {
  const known = new Map<string, boolean>()
  return (path) => {
    const answer = known.get(path)
    if (answer !== undefined) return answer
    const fresh = test(path)
    if (path.length > MAX_KNOWN_LENGTH) return fresh
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(path, fresh)
    return fresh
  }
}

/**
 * Compiles a path pattern of a matcher: "/about/:path*", "/((?!api|_next).*)". As in Next.js it matches the whole path,
 * case-sensitively, and a "/" at the end of the path does not matter.
 * @throws SITE_BAD_PATTERN
 */
export function compilePathPattern(source: string): (path: string) => boolean {
  const tokens = new PathPatternParser(source).parse()
  const first = tokens[0]
  const prefix = first?.kind === 'text' ? first.text : ''
  const matches = compileTest(sequence([...tokens.map(nodeOf), repeated(literal('/'), 0, 1)]))
  return rememberPaths((path) => path.startsWith(prefix) && matches(path))
}

/**
 * Compiles a regular expression that must fit a whole text.
 * @throws SITE_BAD_PATTERN
 */
export function compileWholeRegex(source: string): (text: string) => boolean {
  return compileTest(parse(source))
}
