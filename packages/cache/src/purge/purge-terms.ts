import { normalizePath } from '@svc/http'
import { fullTag, isMatchAll, withoutTrailingSlash } from '../tags/tags.ts'
import type { PurgeScope } from './purge.ts'

/** A tag as written in a purge request. */
interface TagTerm {
  /** null: the name on every site. */
  readonly label: string | null
  readonly name: string
}

const PREFIX = 'route:'

/**
 * Reads `route:<label>:<name>`, `route:<name>` or `<name>`. What follows `route:` up to the next ":" is a label if there is
 * such a label, so a name may hold colons itself. Undefined for an empty name.
 */
export function parseTagTerm(text: string, labels: ReadonlySet<string>): TagTerm | undefined {
  const rest = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text
  const colon = text.startsWith(PREFIX) ? rest.indexOf(':') : -1
  const label = colon === -1 ? '' : rest.slice(0, colon)
  const term = labels.has(label) ? { label, name: rest.slice(colon + 1) } : { label: null, name: rest }
  if (term.name === '') return undefined
  return term.name.startsWith('/') ? { ...term, name: withoutTrailingSlash(term.name) } : term
}

/** The full tags that a term names. `labels`: those that the caller may touch; others are left out. */
export function tagsOfTerm({ label, name }: TagTerm, labels: Iterable<string>): string[] {
  const touched = [...labels].filter((one) => label === null || one === label)
  return touched.map((one) => fullTag(one, name))
}

/** The scope of a pattern over tags. `labels`: those that the caller may touch; null: all. */
export function scopeOfPattern(pattern: string, labels: readonly string[] | null): PurgeScope {
  if (isMatchAll(pattern)) return labels === null ? { kind: 'everything' } : { kind: 'labels', labels }
  const whole = wholeSiteOf(pattern)
  if (whole === undefined) return { kind: 'pattern', pattern, labels }
  return { kind: 'labels', labels: labels === null || labels.includes(whole) ? [whole] : [] }
}

/** `route:<label>:*` is a whole site, with its untagged entries. */
function wholeSiteOf(pattern: string): string | undefined {
  return /^route:([^:*\\]+):\*+$/.exec(pattern)?.[1]
}

/**
 * A path or prefix of a purge in the form of the keys: escapes as the router has them, characters beyond ASCII escaped.
 * Undefined when it is no path.
 */
export function purgePath(text: string): string | undefined {
  return normalizePath(text.replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed())))
}
