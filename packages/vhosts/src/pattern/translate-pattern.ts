import { messageOf } from '@svc/core'
import type { PatternSpec } from '../spec/spec.ts'
import { capturesBehind, isCheapWithBacktracking, looksAhead } from './cost.ts'
import { takeFinalNewline } from './final-newline.ts'
import { moveLookAheads } from './look-ahead.ts'
import { PatternParser } from './parse-pattern.ts'
import { PatternSyntaxError } from './pattern-syntax-error.ts'
import { countCaptures, type PatternNode } from './pattern-tree.ts'
import { keepsLargeCounts, write } from './write-pattern.ts'

/** A regular expression ready to be used, or what is wrong with it. */
export type TranslatedPattern =
  | {
      readonly pattern: PatternSpec
      /** Number of captures. */
      readonly captures: number
      /** Whether V8 can match it without backtracking, in time that grows with the length of the path alone. */
      readonly isLinear: boolean
    }
  | { readonly error: string; readonly hint: string | undefined }

function isMatchedLinearly(node: PatternNode): boolean {
  return !looksAhead(node) && !capturesBehind(node) && !keepsLargeCounts(node)
}

/**
 * Translates a regular expression from PCRE2's grammar, as nginx reads it (bytes, no multi-line mode), to JavaScript's.
 * Operators' patterns meet attackers' paths: what V8 cannot match in linear time is refused unless backtracking over it is cheap.
 */
export function translatePattern(text: string, isCaseless: boolean): TranslatedPattern {
  try {
    const parser = new PatternParser(text, isCaseless)
    const parsed = parser.parse()
    const node = moveLookAheads(takeFinalNewline(parsed))
    const source = write(node)
    // What is accepted here must be accepted by whoever compiles it.
    new RegExp(source)
    const isLinear = isMatchedLinearly(node)
    if (!isLinear && !isCheapWithBacktracking(parsed)) {
      throw new PatternSyntaxError(
        'matching it can take without bound',
        'look-ahead and large counted groups cannot be combined with nested or many repetitions; split the pattern',
      )
    }
    return { pattern: { source, flags: '', names: parser.names }, captures: countCaptures(parsed), isLinear }
  } catch (error) {
    const hint = error instanceof PatternSyntaxError ? error.hint : undefined
    return { error: messageOf(error), hint }
  }
}
