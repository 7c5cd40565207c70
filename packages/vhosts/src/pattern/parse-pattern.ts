import { addAll, bothCases, bytesWhere, complement, letterClasses, oneByte, posixClasses } from './byte-set.ts'
import { PatternSyntaxError } from './pattern-syntax-error.ts'
import type { ByteSet, PatternNode } from './pattern-tree.ts'

interface Options {
  readonly isCaseless: boolean
  readonly doesDotTakeAll: boolean
  readonly isExtended: boolean
}

const CONTROL_LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, e: 27, f: 12, n: 10, r: 13, t: 9 }
const MAX_REPEAT = 65_535
const MAX_DEPTH = 250
const LINE_BREAK: PatternNode = {
  kind: 'choice',
  options: [
    { kind: 'sequence', items: [13, 10].map((byte): PatternNode => ({ kind: 'bytes', set: oneByte(byte) })) },
    { kind: 'bytes', set: letterClasses['v'] ?? oneByte(10) },
  ],
}

/** Reads a regular expression as PCRE2 does, byte by byte. */
export class PatternParser {
  readonly #text: string
  readonly names: string[] = []
  #at = 0
  #depth = 0
  #options: Options

  constructor(text: string, isCaseless: boolean) {
    this.#text = text
    this.#options = { isCaseless, doesDotTakeAll: false, isExtended: false }
  }

  /** @throws PatternSyntaxError */
  parse(): PatternNode {
    const node = this.#choice()
    if (this.#at < this.#text.length) throw new PatternSyntaxError('unmatched ")"')
    return node
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw new PatternSyntaxError('groups are nested too deeply')
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
    const [only] = items
    return items.length === 1 && only !== undefined ? only : { kind: 'sequence', items }
  }

  /** One item with its quantifier. Several nodes for quoted text, undefined for what matches nothing at all, such as a comment. */
  #item(char: string): PatternNode[] | undefined {
    if (this.#take('\\Q')) {
      const end = this.#text.indexOf('\\E', this.#at)
      const quoted = this.#text.slice(this.#at, end < 0 ? undefined : end)
      this.#at = end < 0 ? this.#text.length : end + 2
      const bytes = [...quoted].map((one) => this.#byte(one.charCodeAt(0)))
      const last = bytes.pop()
      // A quantifier is about the last one alone.
      return last === undefined ? undefined : [...bytes, this.#quantified(last)]
    }
    if (this.#take('\\E')) return undefined
    const atom = this.#atom(char)
    return atom === undefined ? undefined : [this.#quantified(atom)]
  }

  #atom(char: string): PatternNode | undefined {
    this.#at++
    switch (char) {
      case '(':
        return this.#group()
      case '[':
        return { kind: 'bytes', set: this.#class() }
      case '\\':
        return this.#escape()
      case '^':
        return { kind: 'assert', at: 'start' }
      case '$':
        return { kind: 'assert', at: 'endOrNewline' }
      case '.':
        return { kind: 'bytes', set: bytesWhere((byte) => this.#options.doesDotTakeAll || byte !== 10) }
      case '*':
      case '+':
      case '?':
        throw new PatternSyntaxError(`"${char}" has nothing to repeat`)
      default:
        return this.#byte(char.charCodeAt(0))
    }
  }

  #byte(byte: number): PatternNode {
    return { kind: 'bytes', set: this.#cased(oneByte(byte)) }
  }

  #cased(set: ByteSet): ByteSet {
    return this.#options.isCaseless ? bothCases(set) : set
  }

  #quantified(atom: PatternNode): PatternNode {
    let node = atom
    for (;;) {
      const bounds = this.#bounds()
      if (bounds === undefined) return node
      if (node.kind === 'assert' || node.kind === 'look') throw new PatternSyntaxError('an assertion is repeated')
      if (bounds.max < bounds.min) throw new PatternSyntaxError('numbers out of order in {} quantifier')
      if (this.#take('+'))
        throw new PatternSyntaxError('possessive quantifiers are not supported', 'write it without the "+" behind the quantifier')
      node = { kind: 'repeat', body: node, ...bounds, isLazy: this.#take('?') }
      // `a**` repeats a repetition, which PCRE allows for braces alone; to JavaScript it is a mistake.
      if (/^[*+?]/.test(this.#text.slice(this.#at))) throw new PatternSyntaxError('a quantifier follows a quantifier')
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
    if (min > MAX_REPEAT || (max > MAX_REPEAT && max !== Number.POSITIVE_INFINITY))
      throw new PatternSyntaxError('number too big in {} quantifier')
    return { min, max }
  }

  #group(): PatternNode | undefined {
    if (this.#text[this.#at] === '*') throw new PatternSyntaxError('verbs such as (*FAIL) are not supported')
    if (!this.#take('?')) return this.#capture(undefined)
    if (this.#take('#')) {
      const end = this.#text.indexOf(')', this.#at)
      if (end < 0) throw new PatternSyntaxError('missing ")" after (?# comment')
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
      if (this.#take(opening)) return { kind: 'look', isAhead, isNegative, body: this.#closed(this.#choice()) }
    }
    const named = /^(?:P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})')/.exec(this.#text.slice(this.#at, this.#at + 40))
    if (named !== null) {
      this.#at += named[0].length
      return this.#capture(named[1] ?? named[2])
    }
    if (this.#take('>')) throw new PatternSyntaxError('atomic groups are not supported', 'write (?:...) for (?>...)')
    return this.#optionGroup()
  }

  #optionGroup(): PatternNode | undefined {
    const match = /^(\^?)([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])/.exec(this.#text.slice(this.#at, this.#at + 20))
    const letters = `${match?.[2] ?? ''}${match?.[3] ?? ''}`
    if (match === null || match[1] === '^' || !/^[isx]*$/.test(letters)) {
      throw new PatternSyntaxError(`(?${this.#text.slice(this.#at, this.#at + 3)}...) is not supported`)
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
    if (name !== undefined && this.names.includes(name)) throw new PatternSyntaxError(`two groups have the name "${name}"`)
    if (name !== undefined) this.names.push(name)
    return { kind: 'capture', name, body: this.#closed(this.#choice()) }
  }

  #closed(node: PatternNode): PatternNode {
    if (!this.#take(')')) throw new PatternSyntaxError('missing ")"')
    return node
  }

  #escape(): PatternNode {
    const char = this.#text[this.#at]
    if (char === undefined) throw new PatternSyntaxError('\\ at the end of the pattern')
    const set = letterClasses[char]
    if (set !== undefined) {
      this.#at++
      return { kind: 'bytes', set }
    }
    const asserted = ({ A: 'start', z: 'end', Z: 'endOrNewline', b: 'word', B: 'notWord' } as const)[char]
    if (asserted !== undefined) {
      this.#at++
      return { kind: 'assert', at: asserted }
    }
    if (this.#take('R')) return LINE_BREAK
    // Three octal digits are a character; PCRE would look for so many captures first.
    const isOctal = /^[1-3][0-7]{2}/.test(this.#text.slice(this.#at, this.#at + 3))
    if (/[1-9gk]/.test(char) && !isOctal) {
      throw new PatternSyntaxError('back-references are not supported', 'what they cost on a hostile path has no bound')
    }
    return this.#byte(this.#escapedByte())
  }

  /** The byte that an escape stands for; at the character behind the backslash. */
  #escapedByte(): number {
    const rest = this.#text.slice(this.#at, this.#at + 12)
    const code = /^(?:x\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{0,2})|o\{([0-7]{1,8})\}|(0[0-7]{0,2}|[1-3][0-7]{2}))/.exec(rest)
    if (code !== null) {
      this.#at += code[0].length
      const hex = code[1] ?? code[2]
      const value = hex === undefined ? Number.parseInt(code[3] ?? code[4] ?? '', 8) : Number.parseInt(hex || '0', 16)
      if (value > 255)
        throw new PatternSyntaxError(
          'a character code is above 255',
          'patterns are matched byte by byte; write the bytes of UTF-8',
        )
      return value
    }
    const char = rest[0] ?? ''
    this.#at++
    if (char === 'c') {
      const letter = this.#text[this.#at++] ?? ''
      if (!/[ -~]/.test(letter)) throw new PatternSyntaxError('\\c must be followed by a printable character')
      return letter.toUpperCase().charCodeAt(0) ^ 0x40
    }
    const control = char === 'b' ? undefined : CONTROL_LETTERS[char]
    if (control !== undefined) return control
    if (/[A-Za-z0-9]/.test(char)) throw new PatternSyntaxError(`\\${char} is not supported`)
    return char.charCodeAt(0)
  }

  #class(): ByteSet {
    const isNegated = this.#take('^')
    const set = bytesWhere(() => false)
    let isFirst = true
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) throw new PatternSyntaxError('missing "]"')
      if (char === ']' && !isFirst) break
      isFirst = false
      this.#classMember(set)
    }
    this.#at++
    const cased = this.#cased(set)
    return isNegated ? complement(cased) : cased
  }

  #classMember(set: ByteSet): void {
    const from = this.#classAtom()
    if (typeof from !== 'number') {
      addAll(set, from)
      return
    }
    const next = this.#text[this.#at + 1]
    if (this.#text[this.#at] !== '-' || next === ']' || next === undefined) {
      set[from] = 1
      return
    }
    this.#at++
    const to = this.#classAtom()
    if (typeof to !== 'number') throw new PatternSyntaxError('a range of a class ends with a class')
    if (to < from) throw new PatternSyntaxError('range out of order in a class')
    addAll(
      set,
      bytesWhere((byte) => byte >= from && byte <= to),
    )
  }

  /** One character of a class, or the set that an escape or a POSIX class stands for. */
  #classAtom(): number | ByteSet {
    const rest = this.#text.slice(this.#at, this.#at + 16)
    const posix = /^\[:(\^?)([a-z]+):\]/.exec(rest)
    if (posix !== null) {
      const named = posixClasses[posix[2] ?? '']
      if (named === undefined) throw new PatternSyntaxError(`unknown POSIX class "${posix[2]}"`)
      this.#at += posix[0].length
      return posix[1] === '^' ? complement(named) : named
    }
    if (/^\[[.=]/.test(rest)) throw new PatternSyntaxError('POSIX collating elements are not supported')
    const char = rest[0] ?? ''
    this.#at++
    if (char !== '\\') return char.charCodeAt(0)
    const letter = rest[1] ?? ''
    if (letter === '') throw new PatternSyntaxError('missing "]"')
    const set = letter === 'N' ? undefined : letterClasses[letter]
    if (set !== undefined) {
      this.#at++
      return set
    }
    if (letter === 'b') {
      this.#at++
      return 8
    }
    return this.#escapedByte()
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
