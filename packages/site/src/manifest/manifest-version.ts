import { createHash } from 'node:crypto'
import type { SiteManifest } from './manifest.ts'

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
  const facts = JSON.stringify([appDir, middleware, problems, refusal])
  const version = digest([root, publicDir, facts, ...seen])
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
