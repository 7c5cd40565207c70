import type { PatternSegment, SiteProblem } from '../manifest/manifest.ts'
import { shapeOf, spellPattern } from '../manifest/pattern.ts'
import type { Claim } from './claims.ts'

/** Claims of one URL, and their conflict. */
export interface UrlClaims {
  readonly claims: readonly [Claim, ...Claim[]]
  /** Set when they cannot all be right. */
  readonly problem: SiteProblem | undefined
}

/** Puts the claims of one URL together and finds those that contradict each other. */
export function groupByUrl(claims: readonly Claim[]): UrlClaims[] {
  const groups = new Map<string, [Claim, ...Claim[]]>()
  for (const claim of claims) {
    const shape = shapeOf(claim.segments)
    const group = groups.get(shape)
    if (group === undefined) groups.set(shape, [claim])
    else group.push(claim)
  }
  return [...groups.values()].map((group) => ({ claims: group, problem: contradiction(group) }))
}

function problemOf(message: string, first: Claim, others: readonly Claim[]): SiteProblem {
  return { severity: 'error', file: first.file, message, related: others.map((claim) => claim.file) }
}

const nouns = { page: 'page', handler: 'route handler', metadata: 'metadata file' } as const

/** Pages in different slots of one URL belong together; everything else must be alone. */
function contradiction(claims: readonly [Claim, ...Claim[]]): SiteProblem | undefined {
  const [first, ...others] = claims
  if (others.length === 0) return undefined
  const pattern = spellPattern(first.segments)
  const other = others.find((claim) => claim.kind !== first.kind)
  if (other !== undefined)
    return problemOf(`a ${nouns[first.kind]} and a ${nouns[other.kind]} both answer ${pattern}`, first, others)
  const renamed = others.find((claim) => spellPattern(claim.segments) !== pattern)
  if (renamed !== undefined) {
    return problemOf(`${pattern} and ${spellPattern(renamed.segments)} are the same URL`, first, others)
  }
  if (first.kind !== 'page') return problemOf(`two ${nouns[first.kind]}s answer ${pattern}`, first, others)
  for (const [index, claim] of claims.entries()) {
    const twin = claims.slice(index + 1).find((candidate) => candidate.slot === claim.slot)
    if (twin === undefined) continue
    const where = claim.slot === '' ? '' : ` in the slot ${claim.slot.slice(1)}`
    return problemOf(`two pages answer ${pattern}${where}`, claim, [twin])
  }
  return undefined
}

/** Segments at one position of the URL, over all routes. */
interface Position {
  readonly statics: Map<string, Position>
  /** Names of the dynamic segment here, with a file that has it. */
  readonly names: Map<string, string>
  below: Position | undefined
  catchAll: Ending | undefined
  optionalCatchAll: Ending | undefined
  /** A route that ends here. */
  own: Ending | undefined
}

interface Ending {
  readonly file: string
  readonly pattern: string
}

function newPosition(): Position {
  return {
    statics: new Map(),
    names: new Map(),
    below: undefined,
    catchAll: undefined,
    optionalCatchAll: undefined,
    own: undefined,
  }
}

function place(root: Position, claim: Claim): void {
  const ending = { file: claim.file, pattern: spellPattern(claim.segments) }
  let position = root
  for (const segment of claim.segments) {
    if (segment.kind === 'catch-all') {
      position.catchAll ??= ending
      return
    }
    if (segment.kind === 'optional-catch-all') {
      position.optionalCatchAll ??= ending
      return
    }
    position = step(position, segment, claim.file)
  }
  position.own ??= ending
}

function step(position: Position, segment: PatternSegment, file: string): Position {
  if (segment.kind !== 'static') {
    if (!position.names.has(segment.name)) position.names.set(segment.name, file)
    position.below ??= newPosition()
    return position.below
  }
  const next = position.statics.get(segment.value) ?? newPosition()
  position.statics.set(segment.value, next)
  return next
}

/** Finds routes that Next.js refuses to have beside each other although their URLs differ. */
export function findAmbiguities(claims: readonly Claim[]): SiteProblem[] {
  const root = newPosition()
  for (const claim of claims) place(root, claim)
  const problems: SiteProblem[] = []
  const report = (message: string, file: string, related: string[]) =>
    problems.push({ severity: 'error', file, message, related })
  const visit = (position: Position) => {
    const [first, ...others] = [...position.names]
    const other = others[0]
    if (first !== undefined && other !== undefined) {
      const message = `one position of the URL has two parameter names, [${first[0]}] and [${other[0]}]`
      report(
        message,
        first[1],
        others.map(([, file]) => file),
      )
    }
    const { catchAll, optionalCatchAll, own } = position
    if (catchAll !== undefined && optionalCatchAll !== undefined) {
      report(`${catchAll.pattern} and ${optionalCatchAll.pattern} are catch-alls at the same position`, catchAll.file, [
        optionalCatchAll.file,
      ])
    }
    if (own !== undefined && optionalCatchAll !== undefined) {
      report(`${own.pattern} is also answered by ${optionalCatchAll.pattern}`, own.file, [optionalCatchAll.file])
    }
    if (position.below !== undefined) visit(position.below)
    for (const next of position.statics.values()) visit(next)
  }
  visit(root)
  return problems
}
