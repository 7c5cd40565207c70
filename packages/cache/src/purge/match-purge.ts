import { coversLabel, tagMatcher, uriTag, withoutTrailingSlash } from '../tags/tags.ts'
import type { Purge, Purgeable, PurgeLayer, PurgeOrder, PurgeScope } from './purge.ts'

/** A purge prepared for tests of many entries. */
export type PurgeMatcher = (entry: Purgeable) => boolean

/** True if a purge covers a layer: entries made from an entry of a deeper layer go with it. */
export function touchesLayer(order: PurgeOrder, layer: PurgeLayer): boolean {
  return layer === 'l0' ? order.layers.length > 0 : order.layers.includes(layer)
}

/** Compiles the scopes of a purge: an entry is taken when any of them matches, and its label is one that the purge may touch. */
export function purgeMatcher({ scopes, labels }: Pick<PurgeOrder, 'scopes' | 'labels'>): PurgeMatcher {
  const matchers = scopes.map(scopeMatcher)
  if (labels === undefined) return (entry) => matchers.some((isMatch) => isMatch(entry))
  return (entry) => labels.includes(entry.label) && matchers.some((isMatch) => isMatch(entry))
}

/** True if a purge covers an entry. To test many entries, keep a `purgeMatcher`. */
export function matches(purge: Purge, entry: Purgeable): boolean {
  return purgeMatcher(purge)(entry)
}

function scopeMatcher(scope: PurgeScope): PurgeMatcher {
  switch (scope.kind) {
    case 'everything':
      return () => true
    case 'labels':
      return ({ label }) => scope.labels.includes(label)
    case 'hosts':
      return ({ host }) => scope.hosts.includes(host)
    case 'tags':
      return tagsMatcher(scope.tags)
    case 'uris':
      return tagsMatcher(scope.uris.map(uriTag))
    case 'pattern':
      return patternMatcher(scope.pattern, scope.labels)
    case 'paths': {
      const wanted = new Set(scope.paths.map(withoutTrailingSlash))
      return ({ path, host }) => wanted.has(withoutTrailingSlash(path)) && (scope.hosts?.includes(host) ?? true)
    }
    case 'prefixes':
      return ({ path, host }) => scope.hosts.includes(host) && scope.prefixes.some((prefix) => path.startsWith(prefix))
  }
}

function tagsMatcher(wanted: readonly string[]): PurgeMatcher {
  const set = new Set(wanted)
  return ({ tags }) => tags.some((tag) => set.has(tag))
}

function patternMatcher(pattern: string, labels: readonly string[] | null): PurgeMatcher {
  const matchesTag = tagMatcher(pattern)
  return ({ label, tags }) =>
    (labels?.includes(label) ?? true) && (tags.some((tag) => matchesTag(tag)) || coversLabel(matchesTag, label))
}
