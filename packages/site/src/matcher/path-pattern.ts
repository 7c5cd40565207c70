import { SiteError } from '../errors/errors.ts'
import { compileLinear } from './linear-matcher.ts'
import { parseRegex } from './parse-regex.ts'
import { literal, optional, type Syntax, sequence } from './syntax.ts'

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

function syntaxOf(token: Token): Syntax {
  if (token.kind === 'text') return literal(token.text)
  const { prefix, suffix, modifier } = token
  const [before, behind] = [literal(prefix), literal(suffix)]
  const one = token.regex === undefined ? sequence() : parseRegex(token.regex)
  const isRepeated = modifier === '*' || modifier === '+'
  if (!isRepeated) return modifier === '?' ? optional(sequence(before, one, behind)) : sequence(before, one, behind)
  const more: Syntax = { kind: 'repeat', item: sequence(behind, before, one), min: 0, max: undefined }
  const some = sequence(before, one, more, behind)
  return modifier === '*' ? optional(some) : some
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
  const slash = optional({ kind: 'set', set: { ranges: [[47, 47]], isNegated: false } })
  const matches = compileLinear(sequence(...tokens.map(syntaxOf), slash))
  return (path) => path.startsWith(prefix) && matches(path)
}

/**
 * Compiles a regular expression that must fit a whole text.
 * @throws SITE_BAD_PATTERN
 */
export function compileWholeRegex(source: string): (text: string) => boolean {
  return compileLinear(parseRegex(source))
}
