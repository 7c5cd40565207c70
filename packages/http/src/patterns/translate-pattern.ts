import { messageOf } from '@svc/core'
import { charSet } from './char-set.ts'
import { capturesBehind, isCheapWithBacktracking, looksAhead } from './cost.ts'
import { javascript, pcre } from './dialect.ts'
import { PatternParser } from './parse-pattern.ts'
import { PatternSyntaxError } from './pattern-text.ts'
import { countCaptures, fixedLength, type LookNode, type PatternNode, repeated, sequence } from './pattern-tree.ts'
import { re2Test } from './re2-program.ts'
import { moveLookAheads, reversed, takeFinalNewline } from './rewrite-pattern.ts'
import { keepsLargeCounts, sizeOf, write } from './write-pattern.ts'

/** Nodes of a pattern of a site, with counted repetitions spelled out: more cost too much memory and time. */
const MAX_SIZE = 2000

/** A translated regular expression, or the error in it. */
export type TranslatedPattern =
  | {
      readonly pattern: {
        /** JavaScript's grammar, over bytes. */
        readonly source: string
        /** Always "": V8's linear matcher takes no flags. */
        readonly flags: string
        /** Names of the captures. */
        readonly names: readonly string[]
      }
      /** Number of captures. */
      readonly captures: number
      /** True if V8 can match it without backtracking, in time that grows with the length of the path alone. */
      readonly isLinear: boolean
    }
  | { readonly error: string; readonly hint: string | undefined }

/**
 * Translates a regular expression from PCRE2's grammar, as nginx reads it (bytes, no multi-line mode), to JavaScript's.
 * Operators' patterns meet attackers' paths: a pattern that V8 cannot match in linear time is refused unless backtracking over it
 * is cheap (docs/decisions/0012-patterns-of-operators.md).
 */
export function translatePattern(text: string, isCaseless: boolean): TranslatedPattern {
  try {
    const parser = new PatternParser(text, pcre, isCaseless)
    const parsed = parser.parse()
    const node = moveLookAheads(takeFinalNewline(parsed))
    const source = write(node, { notation: 'javascript', top: pcre.top })
    // The process that compiles it must not be the first to find that it cannot.
    new RegExp(source)
    const isLinear = !looksAhead(node) && !capturesBehind(node) && !keepsLargeCounts(node)
    if (!isLinear && !isCheapWithBacktracking(parsed)) {
      const hint = 'look-ahead and large counted groups cannot be combined with nested or many repetitions; split the pattern'
      return { error: 'matching it could take unbounded time', hint }
    }
    return { pattern: { source, flags: '', names: parser.names }, captures: countCaptures(parsed), isLinear }
  } catch (error) {
    const hint = error instanceof PatternSyntaxError ? error.hint : undefined
    return { error: messageOf(error), hint }
  }
}

/**
 * Parses a regular expression in JavaScript's grammar, without captures, look-behind and back-references.
 * @throws PatternSyntaxError
 */
export function parseRegex(source: string): PatternNode {
  return new PatternParser(source, javascript).parse()
}

/** A pattern for RE2 that whole texts are tested with. */
interface WholeTextPattern {
  readonly source: string
  /** The text has to be reversed first: RE2 has look-behinds, but no look-aheads. */
  readonly isReversed: boolean
  /** Look-aheads at a fixed distance from the start: patterns of their own, which have to match or must not. */
  readonly conditions: readonly { readonly source: string; readonly isNegative: boolean }[]
}

const ANY: PatternNode = { kind: 'set', set: charSet([0, javascript.top]) }
const RE2 = { notation: 're2', top: javascript.top } as const
const START: PatternNode = { kind: 'assert', at: 'start' }
const END: PatternNode = { kind: 'assert', at: 'end' }

/**
 * Compiles a pattern of `parseRegex` to a test of whole texts that takes linear time, however hostile pattern and text are. Undefined: it
 * is too large.
 */
export function wholeTextTest(node: PatternNode): ((text: string) => boolean) | undefined {
  if (sizeOf(node) > MAX_SIZE) return undefined
  const { source, isReversed, conditions } = wholeTextPattern(node)
  const test = re2Test(source, isReversed)
  const tests = conditions.map((condition) => ({ test: re2Test(condition.source), isNegative: condition.isNegative }))
  return (text) =>
    tests.every((condition) => condition.test(text) !== condition.isNegative) && test(isReversed ? reversedText(text) : text)
}

/** By UTF-16 code units, which is how texts are matched. */
function reversedText(text: string): string {
  let result = ''
  for (let at = text.length - 1; at >= 0; at--) result += text.charAt(at)
  return result
}

/** Writes a pattern of `parseRegex` for a test of whole texts. */
function wholeTextPattern(node: PatternNode): WholeTextPattern {
  const { rest, looks } = splitLookAheads(node)
  const isReversed = looksAhead(rest)
  const whole = sequence([START, repeated(rest, 1, 1), END])
  const conditions = looks.map(({ body, isNegative, distance }) => ({
    source: write(sequence([START, repeated(ANY, distance, distance), repeated(body, 1, 1)]), RE2),
    isNegative,
  }))
  return { source: write(isReversed ? reversed(whole) : whole, RE2), isReversed, conditions }
}

/** Takes the look-aheads at a fixed distance from the start out of a pattern: tests of their own cost far less than look-behinds. */
function splitLookAheads(node: PatternNode): { rest: PatternNode; looks: (LookNode & { distance: number })[] } {
  const rest: PatternNode[] = []
  const looks: (LookNode & { distance: number })[] = []
  let distance: number | undefined = 0
  for (const item of flat(node)) {
    if (item.kind === 'look' && distance !== undefined && !looksAhead(item.body)) looks.push({ ...item, distance })
    else {
      rest.push(item)
      const length: number | undefined = fixedLength(item)
      distance = distance === undefined || length === undefined ? undefined : distance + length
    }
  }
  return { rest: sequence(rest), looks }
}

function flat(node: PatternNode): readonly PatternNode[] {
  return node.kind === 'sequence' ? node.items.flatMap(flat) : [node]
}
