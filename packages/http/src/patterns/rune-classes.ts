import { PatternSyntaxError } from './pattern-text.ts'
import { FOLDS_CASE, type Re2Instruction, type Re2Program, re2Op } from './re2-program.ts'

const LAST_RUNE = 0x10ffff
const LATIN_1 = 256
const NEWLINE = 0x0a
/** Comparisons of ranges with instructions. Patterns with many Unicode classes need more, and would hold up the process. */
const MAX_COMPARISONS = 100_000
/** Ends of ranges in all instructions. */
const MAX_RUNES = 50_000

/** Code points that no instruction of a program tells apart are one class. */
export class RuneClasses {
  readonly count: number
  /** The class of each character up to U+00FF. */
  readonly latin1 = new Uint8Array(LATIN_1)
  /** A code point of each class. */
  readonly samples: readonly number[]
  readonly #starts: Int32Array
  readonly #classes: Uint8Array

  /** @throws PatternSyntaxError if they are too many */
  constructor({ inst }: Re2Program) {
    const readers = inst.filter(readsRune)
    // Naming each would cost more than all the rest.
    const runes = readers.reduce((sum, one) => sum + one.runes.length, 0)
    if (runes > MAX_RUNES) throw new PatternSyntaxError('it has too many character classes', 0)
    const rules = [...new Map(readers.map((one) => [keyOf(one), one])).values()]
    const starts = [...boundsOf(rules)].sort((a, b) => a - b)
    if (starts.length * rules.length > MAX_COMPARISONS) throw new PatternSyntaxError('it has too many character classes', 0)
    const known = new Map<string, number>()
    const samples: number[] = []
    const classes = starts.map((rune) => {
      const key = `${rules.map((one) => (one.matchRune(rune) ? '1' : '0')).join('')}${isWordRune(rune)}${rune === NEWLINE}`
      const number = known.get(key) ?? samples.push(rune) - 1
      known.set(key, number)
      return number
    })
    if (samples.length > LATIN_1) throw new PatternSyntaxError('it has too many character classes', 0)
    this.count = samples.length
    this.samples = samples
    this.#starts = Int32Array.from(starts)
    this.#classes = Uint8Array.from(classes)
    for (let rune = 0; rune < LATIN_1; rune++) this.latin1[rune] = this.classOf(rune)
  }

  classOf(rune: number): number {
    const starts = this.#starts
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= rune) low = middle
      else high = middle - 1
    }
    return this.#classes[low] ?? 0
  }
}

export function readsRune({ op }: Re2Instruction): boolean {
  return op >= re2Op.rune && op <= re2Op.anyRuneButNewline
}

/** As `\b` sees it: ASCII alone, in RE2. */
export function isWordRune(rune: number): boolean {
  return (rune >= 0x30 && rune <= 0x39) || (rune >= 0x41 && rune <= 0x5a) || rune === 0x5f || (rune >= 0x61 && rune <= 0x7a)
}

function keyOf({ op, arg, runes }: Re2Instruction): string {
  return `${op} ${arg} ${Array.from(runes).join()}`
}

/** The first code points of ranges within which no instruction tells one from another. */
function boundsOf(rules: readonly Re2Instruction[]): Set<number> {
  const bounds = new Set([0])
  const add = (from: number, to: number) => {
    bounds.add(from)
    if (to < LAST_RUNE) bounds.add(to + 1)
  }
  add(NEWLINE, NEWLINE)
  for (const [from, to] of [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ] as const)
    add(from, to)
  for (const { runes, arg } of rules) {
    const [only] = Array.from(runes)
    if (runes.length === 1 && only !== undefined) {
      for (const rune of (arg & FOLDS_CASE) === 0 ? [only] : casesOf(only)) add(rune, rune)
    } else for (let at = 0; at < runes.length; at += 2) add(runes[at] ?? 0, runes[at + 1] ?? 0)
  }
  return bounds
}

/** Letters whose cases are more than an upper and a lower one, in ASCII: the Kelvin sign and the long s. */
const FURTHER_CASES: Readonly<Record<string, number>> = { k: 0x212a, s: 0x17f }

function casesOf(rune: number): number[] {
  const char = String.fromCodePoint(rune)
  const lower = char.toLowerCase()
  const forms = [char, lower, char.toUpperCase(), char.toUpperCase().toLowerCase(), lower.toUpperCase()]
  const runes = forms.filter((form) => [...form].length === 1).map((form) => form.codePointAt(0) ?? rune)
  const further = Object.hasOwn(FURTHER_CASES, lower) ? FURTHER_CASES[lower] : undefined
  return further === undefined ? runes : [...runes, further]
}
