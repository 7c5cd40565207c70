import { bothCases, type CharSet, charSet, complement, oneChar, union } from './char-set.ts'
import { type Dialect, posixClasses } from './dialect.ts'
import type { PatternText } from './pattern-text.ts'

/** Codes of characters: in hex (groups 1 and 2) or octal (the others). */
const PCRE_CODE = /^(?:x\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{0,2})|o\{([0-7]{1,8})\}|(0[0-7]{0,2}|[1-3][0-7]{2}))/
const JAVASCRIPT_CODE = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(0))/

/** The value of a table for a key from the pattern, which may name a method of Object. */
export function ownValue<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** The character that an escape stands for; at the character behind the backslash. */
export function escapedCode(text: PatternText, dialect: Dialect): number {
  const rest = text.ahead(12)
  const code = (dialect.isPcre ? PCRE_CODE : JAVASCRIPT_CODE).exec(rest)
  if (code !== null) {
    text.at += code[0].length
    const hex = code[1] ?? code[2]
    const value = hex === undefined ? Number.parseInt(code[3] ?? code[4] ?? '0', 8) : Number.parseInt(hex || '0', 16)
    if (value > dialect.top)
      return text.fail('a character code is above 255', 'patterns are matched byte by byte; write the bytes of UTF-8')
    return value
  }
  const char = rest[0] ?? ''
  text.at++
  if (char === 'c') {
    const letter = text.char() ?? ''
    text.at++
    if (!/[ -~]/.test(letter)) return text.fail('\\c must be followed by a printable character')
    return letter.toUpperCase().charCodeAt(0) ^ 0x40
  }
  const control = ownValue(dialect.controls, char)
  if (control !== undefined) return control
  if (/[A-Za-z0-9]/.test(char)) return text.fail(`\\${char} is not supported`)
  return char.charCodeAt(0)
}

/** A class, behind its opening bracket. */
export function parseClass(text: PatternText, dialect: Dialect, isCaseless: boolean): CharSet {
  const isNegated = text.take('^')
  const members: CharSet[] = []
  // To PCRE a bracket that comes first is a member.
  let isFirst = dialect.isPcre
  for (;;) {
    const char = text.char()
    if (char === undefined) return text.fail('missing "]"')
    if (char === ']' && !isFirst) break
    isFirst = false
    members.push(classMember(text, dialect))
  }
  text.at++
  const plain = union(...members)
  const cased = isCaseless ? bothCases(plain) : plain
  return isNegated ? complement(cased, dialect.top) : cased
}

function classMember(text: PatternText, dialect: Dialect): CharSet {
  const from = classAtom(text, dialect)
  if (typeof from !== 'number') return from
  const next = text.char(1)
  if (text.char() !== '-' || next === ']' || next === undefined) return oneChar(from)
  text.at++
  const to = classAtom(text, dialect)
  if (typeof to !== 'number') return text.fail('a range of a class ends with a class')
  if (to < from) return text.fail('range out of order in a class')
  return charSet([from, to])
}

/** One character of a class, or the set that an escape or a POSIX class stands for. */
function classAtom(text: PatternText, dialect: Dialect): number | CharSet {
  const rest = text.ahead(16)
  const posix = dialect.isPcre ? /^\[:(\^?)([a-z]+):\]/.exec(rest) : null
  if (posix !== null) {
    const named = ownValue(posixClasses, posix[2] ?? '')
    if (named === undefined) return text.fail(`unknown POSIX class "${posix[2]}"`)
    text.at += posix[0].length
    return posix[1] === '^' ? complement(named, dialect.top) : named
  }
  if (dialect.isPcre && /^\[[.=]/.test(rest)) return text.fail('POSIX collating elements are not supported')
  const char = rest[0] ?? ''
  text.at++
  if (char !== '\\') return char.charCodeAt(0)
  const letter = rest[1] ?? ''
  if (letter === '') return text.fail('missing "]"')
  const set = letter === 'N' ? undefined : ownValue(dialect.classes, letter)
  if (set !== undefined) {
    text.at++
    return set
  }
  if (letter === 'b') {
    text.at++
    return 8
  }
  return escapedCode(text, dialect)
}
