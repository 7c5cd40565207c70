import type { PatternSegment, Route, RouteCache, SegmentNode, SiteProblem, SlotParam } from '../manifest/manifest.ts'
import { isStaticPattern, spellPattern } from '../manifest/pattern.ts'
import type { ModuleSurvey } from '../tree/module-survey.ts'
import { isPatternSegment, parseSegmentName } from '../tree/segment-name.ts'
import type { Claim } from './claims.ts'
import { findAmbiguities, groupByUrl, type UrlClaims } from './conflicts.ts'
import type { PageTrees } from './page-tree.ts'

/** Inputs of the routes. */
interface RouteSources {
  readonly claims: readonly Claim[]
  readonly trees: PageTrees
  readonly appDir: string
  /** True if a module exports `generateStaticParams`. */
  readonly hasStaticParams: (file: string) => boolean
  /** Facts of a module. */
  readonly look: (file: string) => Pick<ModuleSurvey, 'revalidate' | 'dynamic'> | undefined
  /** Receives the conflicts between the claims. */
  readonly problems: SiteProblem[]
}

/** Most routes of a site, and most characters of them as JSON: a manifest goes to other processes in one message. */
const MAX_ROUTES = 10_000
const MAX_ROUTE_CHARS = 8 * 1024 * 1024

/** Turns claims into routes, one for each URL, sorted by pattern. Past the limit of routes the last ones are left out. */
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
  return Object.freeze(
    withinLimits(
      routes.sort((left, right) => (left.pattern < right.pattern ? -1 : 1)),
      sources,
    ),
  )
}

function withinLimits(routes: Route[], { appDir, problems }: RouteSources): Route[] {
  let chars = 0
  let count = 0
  for (const route of routes) {
    chars += JSON.stringify(route).length
    if (chars > MAX_ROUTE_CHARS || count === MAX_ROUTES) break
    count++
  }
  const left = routes.length - count
  if (left > 0) {
    const message = `${left} of ${routes.length} routes are not served: a site may have ${MAX_ROUTES}, and ${MAX_ROUTE_CHARS} characters to describe them`
    problems.push({ severity: 'error', file: appDir, message })
  }
  return left > 0 ? routes.slice(0, count) : routes
}

/** Modules of a route that may name its parameters, or say how long it is stored. */
function filesWithParams(file: string, tree: SegmentNode | null): string[] {
  if (tree === null) return [file]
  const files: string[] = []
  for (let node: SegmentNode | null | undefined = tree; node; node = node.slots['children']) {
    for (const own of [node.layout, node.page]) if (own !== undefined) files.push(own)
  }
  return files
}

function routeOf(group: UrlClaims, sources: RouteSources, emptySlots: Map<string, string[]>): Route | undefined {
  const claim = group.claims.find(({ slot }) => slot === '') ?? group.claims[0]
  const { kind, file, metadata } = claim
  const segments = Object.freeze(claim.segments.map((segment) => Object.freeze(segment)))
  const pattern = spellPattern(segments)
  const problem = group.problem === undefined ? {} : { problem: sentenceOf(group.problem) }
  const hasStaticParams = (tree: SegmentNode | null) =>
    kind !== 'metadata' && !isStaticPattern(segments) && filesWithParams(file, tree).some(sources.hasStaticParams)
  const cache = (tree: SegmentNode | null) => (kind === 'metadata' ? {} : declaredCache(filesWithParams(file, tree), sources))
  const base = { id: `${kind}:${pattern}`, pattern, segments, kind, file, metadata, ...problem }
  if (kind !== 'page') {
    return Object.freeze({
      ...base,
      ...cache(null),
      tree: null,
      slotParams: Object.freeze([]),
      hasStaticParams: hasStaticParams(null),
    })
  }
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
  const { node } = tree
  return Object.freeze({
    ...base,
    ...cache(node),
    tree: node,
    slotParams: survey.slotParams,
    hasStaticParams: hasStaticParams(node),
  })
}

/** The shortest declared time of modules. */
function declaredCache(files: readonly string[], { look }: RouteSources): { readonly cache?: RouteCache } {
  const declared = files.flatMap((file) => look(file) ?? [])
  const times = declared.flatMap(({ revalidate }) => (typeof revalidate === 'number' ? [revalidate] : []))
  const shortest = times.length === 0 ? undefined : Math.min(...times)
  const isNever = shortest === 0 || declared.some(({ dynamic }) => dynamic === 'force-dynamic')
  if (isNever) return { cache: { mode: 'never' } }
  if (shortest !== undefined) return { cache: { mode: 'timed', secs: shortest } }
  const isKept = declared.some(
    ({ dynamic, revalidate }) => revalidate === false || dynamic === 'force-static' || dynamic === 'error',
  )
  return isKept ? { cache: { mode: 'until_purged' } } : {}
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

/** Problems that a finished page tree shows. */
interface TreeSurvey {
  /** Parameters that only slots define. */
  readonly slotParams: readonly SlotParam[]
  /** Paths below the app directory of slots with neither a page nor a default: "/(shop)/@cart". */
  readonly emptySlots: readonly string[]
}

/** Looks through the tree of the page at `segments`. */
function surveyTree(tree: SegmentNode, segments: readonly PatternSegment[]): TreeSurvey {
  const known = new Set(segments.map((segment) => (segment.kind === 'static' ? '' : segment.name)))
  const slotParams: SlotParam[] = []
  const emptySlots: string[] = []
  const visit = (node: SegmentNode, path: string, index: number) => {
    const name = parseSegmentName(node.segment)
    const isPart = node.segment !== '' && isPatternSegment(name)
    if (isPart && name.kind !== 'static' && !known.has(name.name)) {
      known.add(name.name)
      slotParams.push(Object.freeze({ name: name.name, index }))
    }
    const own = node.segment === '' ? path : `${path}/${node.segment}`
    for (const [slot, child] of Object.entries(node.slots)) {
      if (child !== null) visit(child, own, isPart ? index + 1 : index)
      else if (slot !== 'children') emptySlots.push(`${own}/@${slot}`)
    }
  }
  visit(tree, '', 0)
  return { slotParams: Object.freeze(slotParams), emptySlots }
}
