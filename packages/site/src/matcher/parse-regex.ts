import { SiteError } from '../errors/errors.ts'
import type { CharSet, Syntax } from './syntax.ts'

/** Repetitions are unrolled, so that their number must have a bound. */
const MAX_REPEAT = 100
/** Deeper nesting than any sane pattern has; it keeps the parser off the end of the stack. */
const MAX_DEPTH = 50

const classes: Readonly<Record<string, CharSet['ranges']>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [160, 160],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
}

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, '0': 0 }
const lineEnds: CharSet['ranges'] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]

/** The ranges that a negated set leaves. */
function complement(ranges: CharSet['ranges']): [number, number][] {
  const left: [number, number][] = []
  let next = 0
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (from > next) left.push([next, from - 1])
    next = Math.max(next, to + 1)
  }
  if (next <= 0xffff) left.push([next, 0xffff])
  return left
}

class RegexParser {
  readonly #source: string
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): Syntax {
    const syntax = this.#choice()
    if (this.#at < this.#source.length) this.#fail(`unexpected "${this.#peek()}"`)
    return syntax
  }

  #fail(what: string): never {
    throw new SiteError('SITE_BAD_PATTERN', `${what} at position ${this.#at + 1} of "${this.#source}"`)
  }

  #peek(): string {
    return this.#source.charAt(this.#at)
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #choice(): Syntax {
    if (++this.#depth > MAX_DEPTH) this.#fail('groups are nested too deep')
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: 'choice', options }
  }

  #sequence(): Syntax {
    const items: Syntax[] = []
    while (this.#at < this.#source.length && this.#peek() !== '|' && this.#peek() !== ')') items.push(this.#repeat(this.#atom()))
    return { kind: 'sequence', items }
  }

  #repeat(item: Syntax): Syntax {
    const bounds = this.#bounds()
    if (bounds === undefined) return item
    if (item.kind === 'lookahead' || item.kind === 'start' || item.kind === 'end') this.#fail('nothing to repeat')
    // Greedy or lazy makes no difference to whether the whole matches.
    this.#take('?')
    if (this.#bounds() !== undefined) this.#fail('nothing to repeat')
    return { kind: 'repeat', item, ...bounds }
  }

  #bounds(): { min: number; max: number | undefined } | undefined {
    if (this.#take('*')) return { min: 0, max: undefined }
    if (this.#take('+')) return { min: 1, max: undefined }
    if (this.#take('?')) return { min: 0, max: 1 }
    const match = /^\{(\d+)(,?)(\d*)\}/.exec(this.#source.slice(this.#at, this.#at + 20))
    if (match === null) return undefined
    this.#at += match[0].length
    const min = Number(match[1])
    const max = match[2] === '' ? min : match[3] === '' ? undefined : Number(match[3])
    if (Math.max(min, max ?? 0) > MAX_REPEAT) this.#fail(`more than ${MAX_REPEAT} repetitions`)
    if (max !== undefined && max < min) this.#fail('repetition bounds out of order')
    return { min, max }
  }

  #atom(): Syntax {
    const char = this.#peek()
    if (char === '*' || char === '+' || char === '?') this.#fail('nothing to repeat')
    this.#at++
    if (char === '(') return this.#group()
    if (char === '[') return { kind: 'set', set: this.#set() }
    if (char === '.') return { kind: 'set', set: { ranges: lineEnds, isNegated: true } }
    if (char === '^') return { kind: 'start' }
    if (char === '$') return { kind: 'end' }
    const ranges = char === '\\' ? this.#escape() : [[char.charCodeAt(0), char.charCodeAt(0)] as const]
    return { kind: 'set', set: { ranges, isNegated: false } }
  }

  #group(): Syntax {
    const look = this.#take('?!') ? 'negative' : this.#take('?=') ? 'positive' : undefined
    const name = /^\?<[A-Za-z_$][\w$]*>/.exec(this.#source.slice(this.#at, this.#at + 100))?.[0]
    if (look === undefined && !this.#take(name ?? '?:') && this.#peek() === '?') this.#fail('this kind of group is not supported')
    const item = this.#choice()
    if (!this.#take(')')) this.#fail('missing ")"')
    return look === undefined ? item : { kind: 'lookahead', item, isNegated: look === 'negative' }
  }

  /** Reads what stands behind a backslash. */
  #escape(): CharSet['ranges'] {
    const char = this.#peek()
    if (char === '') this.#fail('nothing behind "\\"')
    this.#at++
    const named = classes[char.toLowerCase()]
    if (named !== undefined && Object.hasOwn(classes, char.toLowerCase())) return char in classes ? named : complement(named)
    if (Object.hasOwn(controls, char)) return [[controls[char] ?? 0, controls[char] ?? 0]]
    const digits = { x: 2, u: 4 }[char]
    if (digits !== undefined) return this.#codeUnit(digits)
    if (/[a-zA-Z0-9]/.test(char)) this.#fail(`"\\${char}" is not supported`)
    return [[char.charCodeAt(0), char.charCodeAt(0)]]
  }

  #codeUnit(digits: number): CharSet['ranges'] {
    const text = this.#source.slice(this.#at, this.#at + digits)
    if (text.length !== digits || /[^0-9a-fA-F]/.test(text)) this.#fail('malformed escape')
    this.#at += digits
    const code = Number.parseInt(text, 16)
    return [[code, code]]
  }

  #set(): CharSet {
    const isNegated = this.#take('^')
    const ranges: (readonly [number, number])[] = []
    while (!this.#take(']')) {
      if (this.#at >= this.#source.length) this.#fail('missing "]"')
      const from = this.#setItem()
      const isRange = this.#peek() === '-' && !this.#source.startsWith('-]', this.#at) && from.length === 1
      if (!isRange) {
        ranges.push(...from)
        continue
      }
      this.#at++
      const [low, high] = [from[0]?.[0] ?? 0, this.#setItem()[0]?.[0] ?? 0]
      if (high < low) this.#fail('range out of order')
      ranges.push([low, high])
    }
    return { ranges, isNegated }
  }

  #setItem(): CharSet['ranges'] {
    const char = this.#peek()
    this.#at++
    // Inside brackets "\b" is a backspace.
    if (char === '\\' && this.#take('b')) return [[8, 8]]
    return char === '\\' ? this.#escape() : [[char.charCodeAt(0), char.charCodeAt(0)]]
  }
}

/**
 * Parses the part of JavaScript's regular expressions that can be matched in linear time and occurs in matchers: no
 * back-references, look-behind, word boundaries or flags.
 * @throws SITE_BAD_PATTERN with the position
 */
export function parseRegex(source: string): Syntax {
  return new RegexParser(source).parse()
}
