/** Characters for a negated class, in the order of preference. */
const OTHERS = 'ab1zA-_~ '
/** Longer samples make no better paths. */
const MAX_CHARS = 200
/** A pattern is an operator's own, yet its groups must not exhaust the stack. */
const MAX_DEPTH = 40

const ESCAPES: Readonly<Record<string, string>> = {
  d: '1',
  D: 'a',
  w: 'a',
  W: '-',
  s: ' ',
  S: 'a',
  b: '',
  B: '',
  t: '\t',
  n: '\n',
  r: '\r',
  f: '\f',
  v: '\v',
}

/** Reads a regular expression from left to right and writes one text that should match it. */
class Sampler {
  readonly #source: string
  /** Chooses among alternatives and numbers of repetitions. */
  readonly #choice: number
  #at = 0

  constructor(source: string, choice: number) {
    this.#source = source
    this.#choice = choice
  }

  alternatives(depth: number): string {
    const all = [this.#sequence(depth)]
    while (this.#source[this.#at] === '|') {
      this.#at++
      all.push(this.#sequence(depth))
    }
    return all[this.#choice % all.length] ?? ''
  }

  #sequence(depth: number): string {
    let text = ''
    while (this.#at < this.#source.length) {
      const next = this.#source[this.#at]
      if (next === '|' || next === ')') break
      const atom = this.#atom(depth)
      text += atom.repeat(this.#repetitions())
      if (text.length > MAX_CHARS) text = text.slice(0, MAX_CHARS)
    }
    return text
  }

  #atom(depth: number): string {
    const char = this.#source[this.#at++] ?? ''
    if (char === '(') return this.#group(depth + 1)
    if (char === '[') return this.#class()
    if (char === '\\') return this.#escape()
    if (char === '.') return 'a'
    return char === '^' || char === '$' ? '' : char
  }

  #group(depth: number): string {
    const [start = '', look] = /^(?:\?(?:(<?[=!])|<\w+>|[a-z-]*:)?)?/.exec(this.#source.slice(this.#at)) ?? []
    this.#at += start.length
    if (depth > MAX_DEPTH) {
      this.#at = this.#source.length
      return ''
    }
    const text = this.alternatives(depth)
    this.#at++
    return look === undefined ? text : ''
  }

  #escape(): string {
    const char = this.#source[this.#at++] ?? ''
    const digits = char === 'x' ? 2 : char === 'u' ? 4 : 0
    const code = this.#source.slice(this.#at, this.#at + digits)
    if (digits > 0 && /^[0-9a-f]+$/i.test(code)) {
      this.#at += digits
      return String.fromCharCode(Number.parseInt(code, 16))
    }
    return /\d/.test(char) ? '' : (ESCAPES[char] ?? char)
  }

  #class(): string {
    const start = this.#at
    const isNegated = this.#source[start] === '^'
    if (isNegated) this.#at++
    const members: string[] = []
    const isEnd = () => this.#source[this.#at] === ']' || this.#at >= this.#source.length
    while (!isEnd()) {
      const char = this.#source[this.#at++] ?? ''
      members.push(char === '\\' ? this.#escape() : char)
    }
    const set = new RegExp(this.#source.slice(start - 1, ++this.#at))
    if (isNegated) return [...OTHERS].find((char) => set.test(char)) ?? ''
    return members[this.#choice % Math.max(members.length, 1)] ?? ''
  }

  #repetitions(): number {
    const [text = '', sign, least = '1'] = /^(?:([*+?])|\{(\d+)(?:,\d*)?\})\??/.exec(this.#source.slice(this.#at)) ?? []
    this.#at += text.length
    if (sign === '*' || sign === '?') return 1 - (this.#choice % 2)
    return Math.min(Number(least), MAX_CHARS)
  }
}

/**
 * Writes texts that a regular expression is likely to match: look-arounds and references are not considered, and nothing is
 * matched, which could take long.
 * @param count most texts
 */
export function sampleTexts(source: string, count: number): string[] {
  // A final line feed may stand before the end of a text.
  const texts = Array.from({ length: count }, (_item, choice) => new Sampler(source, choice).alternatives(0).replace(/\n$/, ''))
  return [...new Set(texts)]
}
