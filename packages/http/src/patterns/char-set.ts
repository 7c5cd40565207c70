/**
 * Characters that one position of a pattern matches: inclusive ranges of codes, sorted, neither overlapping nor adjacent. Codes are
 * bytes where paths are compared byte by byte, as nginx does, and UTF-16 code units elsewhere.
 */
export type CharSet = readonly (readonly [from: number, to: number])[]

/** The highest code of a kind of text: 0xff for bytes, 0xffff for UTF-16. */
export type TopCode = 0xff | 0xffff

/** The grammar in which a set is written. */
export type Notation = 'javascript' | 're2'

/** Distance between the two cases of an ASCII letter. */
const CASE_OFFSET = 32

/** Brings ranges into order. */
export function charSet(...ranges: readonly (readonly [from: number, to: number])[]): CharSet {
  const merged: [number, number][] = []
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

export function oneChar(code: number): CharSet {
  return [[code, code]]
}

export function union(...sets: readonly CharSet[]): CharSet {
  return charSet(...sets.flat())
}

/** All characters that are not in a set. */
export function complement(set: CharSet, top: TopCode): CharSet {
  const left: [number, number][] = []
  let next = 0
  for (const [from, to] of set) {
    if (from > next) left.push([next, from - 1])
    next = to + 1
  }
  if (next <= top) left.push([next, top])
  return left
}

/** Adds the other case of the ASCII letters of a set. */
export function bothCases(set: CharSet): CharSet {
  const added = set.flatMap(([from, to]) => [
    ...shifted(Math.max(from, 0x41), Math.min(to, 0x5a), CASE_OFFSET),
    ...shifted(Math.max(from, 0x61), Math.min(to, 0x7a), -CASE_OFFSET),
  ])
  return added.length === 0 ? set : charSet(...set, ...added)
}

function shifted(from: number, to: number, offset: number): (readonly [number, number])[] {
  return from <= to ? [[from + offset, to + offset]] : []
}

/** Writes a set as an atom of a regular expression. */
export function writeSet(set: CharSet, top: TopCode, notation: Notation): string {
  const count = set.reduce((sum, [from, to]) => sum + to - from + 1, 0)
  if (count === top + 1) return notation === 're2' ? '(?s:.)' : '[^]'
  if (count === 0) return notation === 're2' ? '[^\\x00-\\x{10FFFF}]' : '[]'
  const [first] = set
  if (count === 1 && first !== undefined) return escaped(first[0], notation)
  const isNegated = count > (top + 1) / 2
  const ranges = isNegated ? complement(set, top) : set
  return `[${isNegated ? '^' : ''}${ranges.map((range) => writeRange(range, notation)).join('')}]`
}

function writeRange([from, to]: CharSet[number], notation: Notation): string {
  if (from === to) return escaped(from, notation)
  return `${escaped(from, notation)}${to === from + 1 ? '' : '-'}${escaped(to, notation)}`
}

function escaped(code: number, notation: Notation): string {
  const char = String.fromCharCode(code)
  if (/[0-9A-Za-z_~!@#%&=:;,<>"'` ]/.test(char)) return char
  if (code > 0x20 && code < 0x7f) return `\\${char}`
  const hex = code.toString(16)
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return notation === 're2' ? `\\x{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
