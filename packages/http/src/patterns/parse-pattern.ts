import { AppError } from '@svc/core'
import { bothCases, type CharSet, charSet, complement, oneChar, union } from './char-set.ts'
import { type Dialect, posixClasses } from './dialect.ts'
import { type PatternNode, sequence } from './pattern-tree.ts'

/** A regular expression cannot be used. Reported with the file and line, or the entry, that holds it. */
export class PatternSyntaxError extends AppError<'CONFIG_PATTERN'> {
  /** Offset in the pattern at which parsing stopped. */
  readonly offset: number
  readonly hint: string | undefined

  constructor(message: string, offset: number, hint?: string) {
    super('CONFIG_PATTERN', message, {})
    this.name = 'PatternSyntaxError'
    this.offset = offset
    this.hint = hint
  }
}

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

/** Codes of characters: in hex (groups 1 and 2) or octal (the others). */
const PCRE_CODE = /^(?:x\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{0,2})|o\{([0-7]{1,8})\}|(0[0-7]{0,2}|[1-3][0-7]{2}))/
const JAVASCRIPT_CODE = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(0))/

function ownValue<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** Parses a regular expression of either dialect. */
export class PatternParser {
  readonly #text: string
  readonly #dialect: Dialect
  /** Names of the captures. */
  readonly names: string[] = []
  #at = 0
  #depth = 0
  #options: Options

  constructor(text: string, dialect: Dialect, isCaseless = false) {
    this.#text = text
    this.#dialect = dialect
    this.#options = { isCaseless, doesDotTakeAll: false, isExtended: false }
  }

  #fail(message: string, hint?: string): never {
    throw new PatternSyntaxError(message, this.#at, hint)
  }

  /** @throws PatternSyntaxError */
  parse(): PatternNode {
    const node = this.#choice()
    if (this.#at < this.#text.length) return this.#fail('unmatched ")"')
    return node
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) return this.#fail('groups are nested too deeply')
    const before = this.#options
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
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
      const char = this.#text[this.#at]
      if (char === undefined || char === '|' || char === ')') break
      const found = this.#item(char)
      if (found !== undefined) items.push(...found)
    }
    return sequence(items)
  }

  /** One item with its quantifier. Several nodes for quoted text, undefined for what matches nothing at all, such as a comment. */
  #item(char: string): PatternNode[] | undefined {
    if (this.#isPcre && this.#take('\\Q')) {
      const end = this.#text.indexOf('\\E', this.#at)
      const quoted = this.#text.slice(this.#at, end < 0 ? undefined : end)
      this.#at = end < 0 ? this.#text.length : end + 2
      const chars = [...quoted].map((one) => this.#char(one.charCodeAt(0)))
      const last = chars.pop()
      // A quantifier is about the last one alone.
      return last === undefined ? undefined : [...chars, this.#quantified(last)]
    }
    if (this.#isPcre && this.#take('\\E')) return undefined
    const start = this.#at
    const atom = this.#atom(char)
    if (atom === undefined) return undefined
    // A group around an assertion may be repeated, the assertion itself not.
    const isInGroup = /^\((?!\?<?[=!])/.test(this.#text.slice(start, start + 4))
    const isAssertion = atom.kind === 'assert' || atom.kind === 'look'
    return [this.#quantified(atom, isAssertion && !isInGroup)]
  }

  #atom(char: string): PatternNode | undefined {
    this.#at++
    switch (char) {
      case '(':
        return this.#group()
      case '[':
        return { kind: 'set', set: this.#class() }
      case '\\':
        return this.#escape()
      case '^':
        return { kind: 'assert', at: 'start' }
      case '$':
        return { kind: 'assert', at: this.#dialect.dollar }
      case '.':
        return { kind: 'set', set: this.#complement(this.#options.doesDotTakeAll ? [] : this.#dialect.lineEnds) }
      case '*':
      case '+':
      case '?':
        return this.#fail(`"${char}" has nothing to repeat`)
      default:
        return this.#char(char.charCodeAt(0))
    }
  }

  #char(code: number): PatternNode {
    return { kind: 'set', set: this.#cased(oneChar(code)) }
  }

  get #isPcre(): boolean {
    return this.#dialect.name === 'pcre'
  }

  #complement(set: CharSet): CharSet {
    return complement(set, this.#dialect.top)
  }

  #cased(set: CharSet): CharSet {
    return this.#options.isCaseless ? bothCases(set) : set
  }

  #quantified(atom: PatternNode, isAssertion = false): PatternNode {
    let node = atom
    for (;;) {
      const bounds = this.#bounds()
      if (bounds === undefined) return node
      if (isAssertion) return this.#fail('an assertion is repeated')
      if (bounds.max < bounds.min) return this.#fail('numbers out of order in {} quantifier')
      if (this.#take('+'))
        return this.#fail('possessive quantifiers are not supported', 'write it without the "+" behind the quantifier')
      node = { kind: 'repeat', body: node, ...bounds, isLazy: this.#take('?') }
      // `a**` repeats a repetition, which PCRE allows for braces alone; to JavaScript it is a mistake.
      if (/^[*+?]/.test(this.#text.slice(this.#at))) return this.#fail('a quantifier follows a quantifier')
    }
  }

  #bounds(): { min: number; max: number } | undefined {
    if (this.#options.isExtended) this.#skipExtended()
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#take('?')) return { min: 0, max: 1 }
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#text.slice(this.#at, this.#at + 16))
    if (match === null) return undefined
    this.#at += match[0].length
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3])
    const { maxRepeat } = this.#dialect
    if (min > maxRepeat || (max > maxRepeat && max !== Number.POSITIVE_INFINITY))
      return this.#fail('number too big in {} quantifier')
    return { min, max }
  }

  #group(): PatternNode | undefined {
    if (this.#isPcre && this.#text[this.#at] === '*') return this.#fail('verbs such as (*FAIL) are not supported')
    if (!this.#take('?')) return this.#capture(undefined)
    if (this.#isPcre && this.#take('#')) {
      const end = this.#text.indexOf(')', this.#at)
      if (end < 0) return this.#fail('missing ")" after (?# comment')
      this.#at = end + 1
      return undefined
    }
    if (this.#take(':')) return this.#closed(this.#choice())
    for (const [opening, isAhead, isNegative] of [
      ['=', true, false],
      ['!', true, true],
      ['<=', false, false],
      ['<!', false, true],
    ] as const) {
      if ((isAhead || this.#isPcre) && this.#take(opening))
        return { kind: 'look', isAhead, isNegative, body: this.#closed(this.#choice()) }
    }
    const namedGroup = this.#isPcre ? /^(?:P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})')/ : /^<([A-Za-z_$][\w$]{0,95})>/
    const named = namedGroup.exec(this.#text.slice(this.#at, this.#at + 100))
    if (named !== null) {
      this.#at += named[0].length
      return this.#capture(named[1] ?? named[2])
    }
    if (!this.#isPcre) return this.#fail('this kind of group is not supported')
    if (this.#take('>')) return this.#fail('atomic groups are not supported', 'write (?:...) for (?>...)')
    return this.#optionGroup()
  }

  #optionGroup(): PatternNode | undefined {
    const match = /^(\^?)([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])/.exec(this.#text.slice(this.#at, this.#at + 20))
    const letters = `${match?.[2] ?? ''}${match?.[3] ?? ''}`
    if (match === null || match[1] === '^' || !/^[isx]*$/.test(letters)) {
      return this.#fail(`(?${this.#text.slice(this.#at, this.#at + 3)}...) is not supported`)
    }
    this.#at += match[0].length
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
    if (!this.#isPcre) return this.#closed(this.#choice())
    if (name !== undefined && this.names.includes(name)) return this.#fail(`two groups have the name "${name}"`)
    if (name !== undefined) this.names.push(name)
    return { kind: 'capture', name, body: this.#closed(this.#choice()) }
  }

  #closed(node: PatternNode): PatternNode {
    if (!this.#take(')')) return this.#fail('missing ")"')
    return node
  }

  #escape(): PatternNode {
    const char = this.#text[this.#at]
    if (char === undefined) return this.#fail('\\ at the end of the pattern')
    const set = ownValue(this.#dialect.classes, char)
    if (set !== undefined) {
      this.#at++
      return { kind: 'set', set }
    }
    const asserted = ownValue(this.#dialect.assertions, char)
    if (asserted !== undefined) {
      this.#at++
      return { kind: 'assert', at: asserted }
    }
    if (this.#isPcre && this.#take('R')) return LINE_BREAK
    // Three octal digits are a character; PCRE would look for so many captures first.
    const isOctal = this.#isPcre && /^[1-3][0-7]{2}/.test(this.#text.slice(this.#at, this.#at + 3))
    if (/[1-9gk]/.test(char) && !isOctal) {
      return this.#fail('back-references are not supported', 'their cost on a hostile path has no bound')
    }
    return this.#char(this.#escapedCode())
  }

  /** The character that an escape stands for; at the character behind the backslash. */
  #escapedCode(): number {
    const rest = this.#text.slice(this.#at, this.#at + 12)
    const code = (this.#isPcre ? PCRE_CODE : JAVASCRIPT_CODE).exec(rest)
    if (code !== null) {
      this.#at += code[0].length
      const hex = code[1] ?? code[2]
      const value = hex === undefined ? Number.parseInt(code[3] ?? code[4] ?? '0', 8) : Number.parseInt(hex || '0', 16)
      if (value > this.#dialect.top)
        return this.#fail('a character code is above 255', 'patterns are matched byte by byte; write the bytes of UTF-8')
      return value
    }
    const char = rest[0] ?? ''
    this.#at++
    if (char === 'c') {
      const letter = this.#text[this.#at++] ?? ''
      if (!/[ -~]/.test(letter)) return this.#fail('\\c must be followed by a printable character')
      return letter.toUpperCase().charCodeAt(0) ^ 0x40
    }
    const control = ownValue(this.#dialect.controls, char)
    if (control !== undefined) return control
    if (/[A-Za-z0-9]/.test(char)) return this.#fail(`\\${char} is not supported`)
    return char.charCodeAt(0)
  }

  #class(): CharSet {
    const isNegated = this.#take('^')
    const members: CharSet[] = []
    // To PCRE a bracket that comes first is a member.
    let isFirst = this.#isPcre
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) return this.#fail('missing "]"')
      if (char === ']' && !isFirst) break
      isFirst = false
      members.push(this.#classMember())
    }
    this.#at++
    const cased = this.#cased(union(...members))
    return isNegated ? this.#complement(cased) : cased
  }

  #classMember(): CharSet {
    const from = this.#classAtom()
    if (typeof from !== 'number') return from
    const next = this.#text[this.#at + 1]
    if (this.#text[this.#at] !== '-' || next === ']' || next === undefined) return oneChar(from)
    this.#at++
    const to = this.#classAtom()
    if (typeof to !== 'number') return this.#fail('a range of a class ends with a class')
    if (to < from) return this.#fail('range out of order in a class')
    return charSet([from, to])
  }

  /** One character of a class, or the set that an escape or a POSIX class stands for. */
  #classAtom(): number | CharSet {
    const rest = this.#text.slice(this.#at, this.#at + 16)
    const posix = this.#isPcre ? /^\[:(\^?)([a-z]+):\]/.exec(rest) : null
    if (posix !== null) {
      const named = ownValue(posixClasses, posix[2] ?? '')
      if (named === undefined) return this.#fail(`unknown POSIX class "${posix[2]}"`)
      this.#at += posix[0].length
      return posix[1] === '^' ? this.#complement(named) : named
    }
    if (this.#isPcre && /^\[[.=]/.test(rest)) return this.#fail('POSIX collating elements are not supported')
    const char = rest[0] ?? ''
    this.#at++
    if (char !== '\\') return char.charCodeAt(0)
    const letter = rest[1] ?? ''
    if (letter === '') return this.#fail('missing "]"')
    const set = letter === 'N' ? undefined : ownValue(this.#dialect.classes, letter)
    if (set !== undefined) {
      this.#at++
      return set
    }
    if (letter === 'b') {
      this.#at++
      return 8
    }
    return this.#escapedCode()
  }

  #skipExtended(): void {
    const match = /^(?:[\t-\r ]|#[^\n]*(?:\n|$))+/.exec(this.#text.slice(this.#at))
    if (match !== null) this.#at += match[0].length
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }
}
