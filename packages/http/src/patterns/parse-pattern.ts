import { bothCases, charSet, complement, oneChar } from './char-set.ts'
import type { Dialect } from './dialect.ts'
import { escapedCode, ownValue, parseClass } from './pattern-chars.ts'
import { PatternText } from './pattern-text.ts'
import { type PatternNode, sequence } from './pattern-tree.ts'

interface Options {
  readonly isCaseless: boolean
  readonly doesDotTakeAll: boolean
  readonly isExtended: boolean
}

const MAX_DEPTH = 250
const LINE_BREAK: PatternNode = {
  kind: 'choice',
  options: [
    sequence([13, 10].map((code): PatternNode => ({ kind: 'set', set: oneChar(code) }))),
    { kind: 'set', set: charSet([0x0a, 0x0d], [0x85, 0x85]) },
  ],
}

/** Parses a regular expression of either dialect. */
export class PatternParser {
  readonly #text: PatternText
  readonly #dialect: Dialect
  /** Names of the captures. */
  readonly names: string[] = []
  #depth = 0
  #options: Options

  constructor(text: string, dialect: Dialect, isCaseless = false) {
    this.#text = new PatternText(text)
    this.#dialect = dialect
    this.#options = { isCaseless, doesDotTakeAll: false, isExtended: false }
  }

  /** @throws PatternSyntaxError */
  parse(): PatternNode {
    const node = this.#choice()
    if (!this.#text.isAtEnd) return this.#text.fail('unmatched ")"')
    return node
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) return this.#text.fail('groups are nested too deeply')
    const before = this.#options
    const options = [this.#sequence()]
    while (this.#text.take('|')) options.push(this.#sequence())
    // An option set within a group ends with it.
    this.#options = before
    this.#depth--
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { kind: 'choice', options }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    for (;;) {
      if (this.#options.isExtended) this.#skipExtended()
      const char = this.#text.char()
      if (char === undefined || char === '|' || char === ')') break
      const found = this.#item(char)
      if (found !== undefined) items.push(...found)
    }
    return sequence(items)
  }

  /** One item with its quantifier. Several nodes for quoted text, undefined for what matches nothing at all, such as a comment. */
  #item(char: string): PatternNode[] | undefined {
    if (this.#dialect.isPcre && this.#text.take('\\Q')) {
      const quoted = this.#text.takeUntil('\\E') ?? this.#text.takeRest()
      const chars = [...quoted].map((one) => this.#char(one.charCodeAt(0)))
      const last = chars.pop()
      // A quantifier is about the last one alone.
      return last === undefined ? undefined : [...chars, this.#quantified(last)]
    }
    if (this.#dialect.isPcre && this.#text.take('\\E')) return undefined
    // A group around an assertion may be repeated, the assertion itself not.
    const isInGroup = /^\((?!\?<?[=!])/.test(this.#text.ahead(4))
    const atom = this.#atom(char)
    if (atom === undefined) return undefined
    const isAssertion = atom.kind === 'assert' || atom.kind === 'look'
    return [this.#quantified(atom, isAssertion && !isInGroup)]
  }

  #atom(char: string): PatternNode | undefined {
    this.#text.at++
    switch (char) {
      case '(':
        return this.#group()
      case '[':
        return { kind: 'set', set: parseClass(this.#text, this.#dialect, this.#options.isCaseless) }
      case '\\':
        return this.#escape()
      case '^':
        return { kind: 'assert', at: 'start' }
      case '$':
        return { kind: 'assert', at: this.#dialect.dollar }
      case '.':
        return { kind: 'set', set: complement(this.#options.doesDotTakeAll ? [] : this.#dialect.lineEnds, this.#dialect.top) }
      case '*':
      case '+':
      case '?':
        return this.#text.fail(`"${char}" has nothing to repeat`)
      default:
        return this.#char(char.charCodeAt(0))
    }
  }

  #char(code: number): PatternNode {
    const set = oneChar(code)
    return { kind: 'set', set: this.#options.isCaseless ? bothCases(set) : set }
  }

  #quantified(atom: PatternNode, isAssertion = false): PatternNode {
    let node = atom
    for (;;) {
      const bounds = this.#bounds()
      if (bounds === undefined) return node
      if (isAssertion) return this.#text.fail('an assertion is repeated')
      if (bounds.max < bounds.min) return this.#text.fail('numbers out of order in {} quantifier')
      if (this.#text.take('+'))
        return this.#text.fail('possessive quantifiers are not supported', 'write it without the "+" behind the quantifier')
      node = { kind: 'repeat', body: node, ...bounds, isLazy: this.#text.take('?') }
      // `a**` repeats a repetition, which PCRE allows for braces alone; to JavaScript it is a mistake.
      if (/^[*+?]/.test(this.#text.ahead())) return this.#text.fail('a quantifier follows a quantifier')
    }
  }

  #bounds(): { min: number; max: number } | undefined {
    if (this.#options.isExtended) this.#skipExtended()
    if (this.#text.take('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#text.take('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#text.take('?')) return { min: 0, max: 1 }
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#text.ahead(16))
    if (match === null) return undefined
    this.#text.at += match[0].length
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3])
    const { maxRepeat } = this.#dialect
    if (min > maxRepeat || (max > maxRepeat && max !== Number.POSITIVE_INFINITY))
      return this.#text.fail('number too big in {} quantifier')
    return { min, max }
  }

  #group(): PatternNode | undefined {
    if (this.#dialect.isPcre && this.#text.char() === '*') return this.#text.fail('verbs such as (*FAIL) are not supported')
    if (!this.#text.take('?')) return this.#capture(undefined)
    if (this.#dialect.isPcre && this.#text.take('#')) {
      if (this.#text.takeUntil(')') === undefined) return this.#text.fail('missing ")" after (?# comment')
      return undefined
    }
    if (this.#text.take(':')) return this.#closed(this.#choice())
    for (const [opening, isAhead, isNegative] of [
      ['=', true, false],
      ['!', true, true],
      ['<=', false, false],
      ['<!', false, true],
    ] as const) {
      if ((isAhead || this.#dialect.isPcre) && this.#text.take(opening))
        return { kind: 'look', isAhead, isNegative, body: this.#closed(this.#choice()) }
    }
    const namedGroup = this.#dialect.isPcre ? /^(?:P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})')/ : /^<([A-Za-z_$][\w$]{0,95})>/
    const named = namedGroup.exec(this.#text.ahead(100))
    if (named !== null) {
      this.#text.at += named[0].length
      return this.#capture(named[1] ?? named[2])
    }
    if (!this.#dialect.isPcre) return this.#text.fail('this kind of group is not supported')
    if (this.#text.take('>')) return this.#text.fail('atomic groups are not supported', 'write (?:...) for (?>...)')
    return this.#optionGroup()
  }

  #optionGroup(): PatternNode | undefined {
    const match = /^(\^?)([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])/.exec(this.#text.ahead(20))
    const letters = `${match?.[2] ?? ''}${match?.[3] ?? ''}`
    if (match === null || match[1] === '^' || !/^[isx]*$/.test(letters)) {
      return this.#text.fail(`(?${this.#text.ahead(3)}...) is not supported`)
    }
    this.#text.at += match[0].length
    const before = this.#options
    const isOn = (letter: string, current: boolean) =>
      (match[2]?.includes(letter) === true || current) && match[3]?.includes(letter) !== true
    this.#options = {
      isCaseless: isOn('i', before.isCaseless),
      doesDotTakeAll: isOn('s', before.doesDotTakeAll),
      isExtended: isOn('x', before.isExtended),
    }
    // Without a colon the options hold until the group around them ends.
    if (match[4] === ')') return undefined
    const body = this.#closed(this.#choice())
    this.#options = before
    return body
  }

  #capture(name: string | undefined): PatternNode {
    if (!this.#dialect.isPcre) return this.#closed(this.#choice())
    if (name !== undefined && this.names.includes(name)) return this.#text.fail(`two groups have the name "${name}"`)
    if (name !== undefined) this.names.push(name)
    return { kind: 'capture', name, body: this.#closed(this.#choice()) }
  }

  #closed(node: PatternNode): PatternNode {
    if (!this.#text.take(')')) return this.#text.fail('missing ")"')
    return node
  }

  #escape(): PatternNode {
    const char = this.#text.char()
    if (char === undefined) return this.#text.fail('\\ at the end of the pattern')
    const set = ownValue(this.#dialect.classes, char)
    if (set !== undefined) {
      this.#text.at++
      return { kind: 'set', set }
    }
    const asserted = ownValue(this.#dialect.assertions, char)
    if (asserted !== undefined) {
      this.#text.at++
      return { kind: 'assert', at: asserted }
    }
    if (this.#dialect.isPcre && this.#text.take('R')) return LINE_BREAK
    // Three octal digits are a character; PCRE would look for so many captures first.
    const isOctal = this.#dialect.isPcre && /^[1-3][0-7]{2}/.test(this.#text.ahead(3))
    if (/[1-9gk]/.test(char) && !isOctal) {
      return this.#text.fail('back-references are not supported', 'their cost on a hostile path has no bound')
    }
    return this.#char(escapedCode(this.#text, this.#dialect))
  }

  #skipExtended(): void {
    const match = /^(?:[\t-\r ]|#[^\n]*(?:\n|$))+/.exec(this.#text.ahead())
    if (match !== null) this.#text.at += match[0].length
  }
}
