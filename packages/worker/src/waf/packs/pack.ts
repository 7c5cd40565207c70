import type { Pacer } from '@svc/core'
import { LinearPattern } from '@svc/http'

/** The patterns of a pack. Those of one name are matched at once; apart they need less memory. */
export type PackPatterns = Readonly<Record<string, readonly string[]>>

/** Ours are known: what they need was measured. */
const LIMITS = { maxChars: 20_000, maxInstructions: 20_000, maxCells: 1_000_000, maxWork: 20_000_000 }

/** Compiles patterns for texts in the form of packs. Each group costs one look at each character. */
export async function compilePatterns(groups: PackPatterns, pacer: Pacer): Promise<readonly LinearPattern[]> {
  const compiled: LinearPattern[] = []
  for (const sources of Object.values(groups)) {
    const source = `(?m)${sources.map((one) => `(?:${one})`).join('|')}`
    compiled.push(await LinearPattern.compileInSlices(source, LIMITS, pacer))
  }
  return compiled
}

/** Returns true if a pattern matches one of the texts. */
export function matchesAny(patterns: readonly LinearPattern[], texts: readonly string[]): boolean {
  return texts.some((text) => text !== '' && patterns.some((pattern) => pattern.test(text)))
}
