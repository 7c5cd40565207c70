import { createHash } from 'node:crypto'
import { type Guard, guard } from '@svc/core'
import type { MetadataFile, PatternSegment, Route, SegmentNode, SiteManifest, SiteProblem } from './manifest.ts'

const named = guard.object({ kind: guard.oneOf('dynamic', 'catch-all', 'optional-catch-all'), name: guard.string })
const plain = guard.object({ kind: guard.oneOf('static'), value: guard.string })

const patternSegment: Guard<PatternSegment> = (value, path) => {
  const isStatic = typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'static'
  return isStatic ? plain(value, path) : named(value, path)
}

const metadataType = guard.oneOf(
  'favicon',
  'robots',
  'manifest',
  'sitemap',
  'icon',
  'apple-icon',
  'opengraph-image',
  'twitter-image',
)

const metadataFields = guard.object({
  type: metadataType,
  file: guard.string,
  pattern: guard.string,
  contentType: guard.nullable(guard.string),
  hasIds: guard.boolean,
  altFile: guard.optional(guard.string),
})
const metadataFile: Guard<MetadataFile> = (value, path) => metadataFields(value, path) as MetadataFile

/** The tree is looked at from above only: it is used in the isolate, which the worker does not trust anyway. */
const treeRoot = guard.object({ segment: guard.string, slots: guard.recordOf(guard.anything) })
const tree: Guard<SegmentNode> = (value, path) => treeRoot(value, path) as unknown as SegmentNode

const routeFields = guard.object({
  id: guard.string,
  pattern: guard.string,
  segments: guard.arrayOf(patternSegment),
  kind: guard.oneOf('page', 'handler', 'metadata'),
  file: guard.string,
  tree: guard.nullable(tree),
  metadata: guard.nullable(metadataFile),
  slotParams: guard.arrayOf(guard.object({ name: guard.string, index: guard.number })),
  hasStaticParams: guard.boolean,
  cache: guard.optional(
    guard.object({ mode: guard.oneOf('never', 'until_purged', 'timed'), secs: guard.optional(guard.number) }),
  ),
  problem: guard.optional(guard.string),
})
const route: Guard<Route> = (value, path) => routeFields(value, path) as Route

const problem = guard.object({
  severity: guard.oneOf('error', 'warning'),
  file: guard.string,
  line: guard.optional(guard.number),
  message: guard.string,
  related: guard.optional(guard.arrayOf(guard.string)),
})

const manifestFields = guard.object({
  version: guard.string,
  root: guard.string,
  appDir: guard.nullable(guard.string),
  publicDir: guard.string,
  routes: guard.arrayOf(route),
  middleware: guard.nullable(guard.object({ file: guard.string, matcher: guard.anything })),
  notFound: guard.nullable(tree),
  globalError: guard.nullable(guard.string),
  problems: guard.arrayOf(problem),
  refusal: guard.nullable(guard.string),
})

/**
 * Checks a manifest that came from another process. Page trees are not looked through.
 * @throws CORE_PROTOCOL naming the first field that is wrong
 */
export const parseManifest: Guard<SiteManifest> = (value, path = 'manifest') =>
  manifestFields(value, path) as unknown as SiteManifest

/** Writes a problem as one line for logs, error pages and `svc routes`: "file:line: message (other, other)". */
export function problemText(problem: SiteProblem): string {
  const related = problem.related ?? []
  const place = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`
  return `${place}: ${problem.message}${related.length === 0 ? '' : ` (${related.join(', ')})`}`
}

type Unversioned = Omit<SiteManifest, 'version'>

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 22)
}

/**
 * Freezes a manifest and gives it its version.
 * @param seen every file and fact that `routes` follow from: hashing these is much cheaper than hashing the trees
 */
export function sealManifest(manifest: Unversioned, seen: readonly string[]): SiteManifest {
  const { root, appDir, publicDir, middleware, problems, refusal } = manifest
  const content = JSON.stringify([appDir, middleware, problems, refusal])
  const version = digest([root, publicDir, content, ...seen])
  for (const problem of problems) Object.freeze(problem.related)
  return Object.freeze({
    version,
    ...manifest,
    routes: Object.freeze(manifest.routes),
    middleware: middleware && Object.freeze(middleware),
    problems: Object.freeze(problems.map((problem) => Object.freeze(problem))),
  })
}

/** The manifest with the `config.matcher` of its middleware, under a version of its own. */
export function withMiddlewareMatcher(manifest: SiteManifest, matcher: unknown): SiteManifest {
  if (manifest.middleware === null) return manifest
  const version = digest([manifest.version, JSON.stringify(matcher) ?? ''])
  return Object.freeze({ ...manifest, version, middleware: Object.freeze({ ...manifest.middleware, matcher }) })
}
