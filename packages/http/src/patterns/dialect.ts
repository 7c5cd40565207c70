import { type CharSet, charSet, complement, oneChar, type TopCode, union } from './char-set.ts'
import type { AssertNode } from './pattern-tree.ts'

/** The grammar that a regular expression is written in. */
export interface Dialect {
  /** False: JavaScript's. */
  readonly isPcre: boolean
  /** Highest character code of the texts. */
  readonly top: TopCode
  /** Sets such as `\d` by their letter. */
  readonly classes: Readonly<Record<string, CharSet>>
  /** Escapes that stand for one character. */
  readonly controls: Readonly<Record<string, number>>
  readonly assertions: Readonly<Record<string, AssertNode['at']>>
  /** Line ends, which `.` does not match. */
  readonly lineEnds: CharSet
  readonly dollar: 'end' | 'endOrNewline'
  /** Largest number in braces. */
  readonly maxRepeat: number
}

const digits = charSet([0x30, 0x39])
const letters = charSet([0x41, 0x5a], [0x61, 0x7a])
const wordChars = union(digits, letters, oneChar(0x5f))

/** Adds the complement of each class under its upper-case letter. */
function withComplements(classes: Readonly<Record<string, CharSet>>, top: TopCode): Readonly<Record<string, CharSet>> {
  const upper = Object.entries(classes).map(([letter, set]) => [letter.toUpperCase(), complement(set, top)])
  return { ...classes, ...Object.fromEntries(upper) }
}

/** PCRE2 as nginx uses it: over bytes, in the C locale, without multi-line mode. */
export const pcre: Dialect = {
  isPcre: true,
  top: 0xff,
  classes: {
    ...withComplements(
      {
        d: digits,
        w: wordChars,
        s: charSet([0x09, 0x0d], [0x20, 0x20]),
        h: charSet([0x09, 0x09], [0x20, 0x20], [0xa0, 0xa0]),
        v: charSet([0x0a, 0x0d], [0x85, 0x85]),
      },
      0xff,
    ),
    N: complement(oneChar(0x0a), 0xff),
  },
  controls: { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 },
  assertions: { A: 'start', z: 'end', Z: 'endOrNewline', b: 'word', B: 'notWord' },
  lineEnds: oneChar(0x0a),
  dollar: 'endOrNewline',
  maxRepeat: 65_535,
}

/**
 * JavaScript without flags, as authors of sites write it. Whole texts are tested, so captures have no meaning; look-behind and
 * back-references are not supported.
 */
export const javascript: Dialect = {
  isPcre: false,
  top: 0xffff,
  classes: withComplements(
    {
      d: digits,
      w: wordChars,
      s: charSet(
        [0x09, 0x0d],
        [0x20, 0x20],
        [0xa0, 0xa0],
        [0x1680, 0x1680],
        [0x2000, 0x200a],
        [0x2028, 0x2029],
        [0x202f, 0x202f],
        [0x205f, 0x205f],
        [0x3000, 0x3000],
        [0xfeff, 0xfeff],
      ),
    },
    0xffff,
  ),
  controls: { f: 12, n: 10, r: 13, t: 9, v: 11 },
  assertions: { b: 'word', B: 'notWord' },
  lineEnds: charSet([0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]),
  dollar: 'end',
  maxRepeat: 1000,
}

/** Classes of POSIX, in the C locale. */
export const posixClasses: Readonly<Record<string, CharSet>> = {
  alnum: union(digits, letters),
  alpha: letters,
  ascii: charSet([0, 0x7f]),
  blank: charSet([0x09, 0x09], [0x20, 0x20]),
  cntrl: charSet([0, 0x1f], [0x7f, 0x7f]),
  digit: digits,
  graph: charSet([0x21, 0x7e]),
  lower: charSet([0x61, 0x7a]),
  print: charSet([0x20, 0x7e]),
  punct: charSet([0x21, 0x2f], [0x3a, 0x40], [0x5b, 0x60], [0x7b, 0x7e]),
  space: charSet([0x09, 0x0d], [0x20, 0x20]),
  upper: charSet([0x41, 0x5a]),
  word: wordChars,
  xdigit: charSet([0x30, 0x39], [0x41, 0x46], [0x61, 0x66]),
}
