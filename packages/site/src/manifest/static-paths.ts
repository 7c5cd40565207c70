import { normalizePath } from '@svc/http'
import type { RouteParams } from './manifest.ts'
import { fillPattern } from './pattern.ts'

function isParams(value: unknown): value is RouteParams {
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).every(
    (item) => typeof item === 'string' || (Array.isArray(item) && item.every((part) => typeof part === 'string')),
  )
}

/**
 * Returns the normalised paths of a pattern for the result of its `generateStaticParams`. Sets of parameters that make no path are
 * left out. Undefined: it is not a list.
 */
export function staticPaths(pattern: string, sets: unknown): string[] | undefined {
  if (!Array.isArray(sets)) return undefined
  const paths = sets.filter(isParams).map((params) => normalizePath(fillPattern(pattern, params)))
  return paths.filter((path) => path !== undefined)
}
