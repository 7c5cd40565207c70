import type { Claim } from './claims.ts'
import { findAmbiguities, groupByUrl, type UrlClaims } from './conflicts.ts'
import type { PatternSegment, Route, SiteProblem } from './manifest.ts'
import type { PageTrees } from './page-tree.ts'
import { spellPattern } from './pattern.ts'
import { surveyTree } from './tree-survey.ts'

/** What routes are made of. */
export interface RouteSources {
  readonly claims: readonly Claim[]
  readonly trees: PageTrees
  readonly appDir: string
  /** Receives what is wrong between the claims. */
  readonly problems: SiteProblem[]
}

/** Turns claims into routes, one for each URL, sorted by pattern. */
export function buildRoutes(sources: RouteSources): readonly Route[] {
  const { claims, problems, appDir } = sources
  const emptySlots = new Map<string, string[]>()
  const routes: Route[] = []
  for (const group of groupByUrl(claims)) {
    if (group.problem !== undefined) problems.push(group.problem)
    const route = routeOf(group, sources, emptySlots)
    if (route !== undefined) routes.push(route)
  }
  problems.push(...findAmbiguities(claims))
  for (const [slot, patterns] of emptySlots) problems.push(emptySlotProblem(`${appDir}${slot}`, patterns))
  return Object.freeze(routes.sort((left, right) => (left.pattern < right.pattern ? -1 : 1)))
}

function routeOf(group: UrlClaims, sources: RouteSources, emptySlots: Map<string, string[]>): Route | undefined {
  const claim = group.claims.find(({ slot }) => slot === '') ?? group.claims[0]
  const { kind, file, metadata } = claim
  const segments = Object.freeze(claim.segments.map((segment) => Object.freeze(segment)))
  const pattern = spellPattern(segments)
  const problem = group.problem === undefined ? {} : { problem: sentenceOf(group.problem) }
  const base = { id: `${kind}:${pattern}`, pattern, segments, kind, file, metadata, ...problem }
  if (kind !== 'page') return Object.freeze({ ...base, tree: null, slotParams: Object.freeze([]) })
  const tree = sources.trees.build(segments)
  if (tree === undefined || tree.fit === 'none') {
    // A catch-all in a slot is there to fill the slot of other pages, so it says nothing about a URL of its own.
    if (isCatchAll(segments)) return undefined
    const message = `${pattern} has a page in a slot only; without a default.* beside the layout it is not served`
    sources.problems.push({ severity: 'warning', file, message })
    return undefined
  }
  const survey = surveyTree(tree.node, segments)
  for (const slot of survey.emptySlots) emptySlots.set(slot, [...(emptySlots.get(slot) ?? []), pattern])
  return Object.freeze({ ...base, tree: tree.node, slotParams: survey.slotParams })
}

function isCatchAll(segments: readonly PatternSegment[]): boolean {
  return segments.at(-1)?.kind.endsWith('catch-all') === true
}

function emptySlotProblem(file: string, patterns: readonly string[]): SiteProblem {
  const others = patterns.length > 1 ? ` and ${patterns.length - 1} more` : ''
  return { severity: 'warning', file, message: `has no default.* for ${patterns[0]}${others}: answered with not-found` }
}

function sentenceOf(problem: SiteProblem): string {
  return `${problem.message}: ${[problem.file, ...(problem.related ?? [])].join(', ')}`
}
