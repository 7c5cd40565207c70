import { LinearPattern } from '@svc/http'

/** The patterns of a pack. Those of one name are matched at once; apart they need less memory. */
export type PackPatterns = Readonly<Record<string, readonly string[]>>

/** Ours are known: what they need was measured. */
const LIMITS = { maxChars: 20_000, maxInstructions: 20_000, maxCells: 1_000_000, maxWork: 20_000_000 }

/** Compiles patterns for texts in the form of packs. Each group costs one look at each character. */
export function compilePatterns(groups: PackPatterns): readonly LinearPattern[] {
  return Object.values(groups).map((sources) => new LinearPattern(`(?m)${sources.map((one) => `(?:${one})`).join('|')}`, LIMITS))
}

/** Returns true if a pattern matches one of the texts. */
export function matchesAny(patterns: readonly LinearPattern[], texts: readonly string[]): boolean {
  return texts.some((text) => text !== '' && patterns.some((pattern) => pattern.test(text)))
}
