import { messageOf } from '@svc/core'
import { RE2JS } from 're2js'
import { PatternSyntaxError } from './pattern-text.ts'

/** One instruction of a compiled pattern. */
export interface Re2Instruction {
  /** One of `re2Op`. */
  readonly op: number
  /** Index of the next instruction. */
  readonly out: number
  /** The other next instruction of a branch, or the conditions of an assertion: see `re2Flag`. */
  readonly arg: number
  /** Sorted ranges of code points; a single one stands for itself. */
  readonly runes: ArrayLike<number>
  matchRune(rune: number): boolean
}

/** A pattern as RE2 compiles it: instructions of a machine that reads code points. */
export interface Re2Program {
  readonly start: number
  readonly inst: readonly Re2Instruction[]
}

/** Operations, numbered as in the library. */
export const re2Op = {
  branch: 1,
  branchMatch: 2,
  capture: 3,
  assertion: 4,
  match: 6,
  nothing: 7,
  rune: 8,
  anyRuneButNewline: 11,
} as const

/** Conditions of an assertion. */
export const re2Flag = {
  lineStart: 1,
  lineEnd: 2,
  textStart: 4,
  textEnd: 8,
  wordBoundary: 16,
  noWordBoundary: 32,
} as const

/** Set in `arg` of an instruction for a single code point that stands for all cases of its letter. */
export const FOLDS_CASE = 1

/**
 * Compiles a pattern of RE2's grammar. The program is not part of the library's interface: its version is pinned, and tests compare
 * what is built from it with the library's own matches.
 * @throws PatternSyntaxError
 */
export function re2Program(source: string): Re2Program {
  try {
    const { re2Input } = RE2JS.compile(source) as unknown as { readonly re2Input: { readonly prog: Re2Program } }
    return re2Input.prog
  } catch (error) {
    throw new PatternSyntaxError(messageOf(error).replace(/^error parsing regexp: /, ''), 0)
  }
}

/**
 * Compiles a test with the library's own matcher, which finds a match anywhere in a text. It takes linear time, but up to a thousand
 * times as long as a `LinearPattern` for some patterns.
 * @param looksBehind the pattern has look-behinds
 */
export function re2Test(source: string, looksBehind = false): (text: string) => boolean {
  const expression = RE2JS.compile(source, looksBehind ? RE2JS.LOOKBEHINDS : 0)
  return (text) => expression.test(text)
}
