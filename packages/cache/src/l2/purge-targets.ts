import type { PurgeOrder, PurgeScope } from '../purge/purge.ts'
import { uriTag } from '../tags/tags.ts'
import { digestOf, hostName, pathName, type SharedLayer, versionsKey } from './shared-keys.ts'

/** The effect of a purge on the versions of one label and layer. */
export interface PurgeTarget {
  readonly key: string
  /** undefined: it takes all entries. */
  readonly digests: readonly Buffer[] | undefined
}

/** The names that a scope takes of a label, or all of its entries. */
type Taken = readonly string[] | 'all'

const TAG = /^route:([^:]*):/
/** Past this many names in one order, it takes all entries of its labels. */
const MAX_NAMES = 5_000

/**
 * The versions that a purge raises in Redis. It takes the entries that the order takes, or more: entries lie there under their tags, hosts
 * and paths, so that a pattern takes all entries of its labels, and a prefix all of its hosts.
 * @param labels all labels of the instance
 */
export function purgeTargets(order: PurgeOrder, prefix: string, labels: Iterable<string>): PurgeTarget[] {
  const layers = order.layers.filter((layer): layer is SharedLayer => layer !== 'l0')
  if (layers.length === 0) return []
  const targets: PurgeTarget[] = []
  const named = new Set([...labels, ...order.scopes.flatMap(labelsOf)])
  for (const label of order.labels ?? named) {
    const taken = order.scopes.map((scope) => takenOf(scope, label))
    const names = taken.includes('all') ? 'all' : [...new Set(taken.flat())]
    if (names.length === 0) continue
    const digests = names === 'all' || names.length > MAX_NAMES ? undefined : names.map(digestOf)
    for (const layer of layers) targets.push({ key: versionsKey(prefix, label, layer), digests })
  }
  return targets
}

/** Labels that a scope names: they may be those of another instance. */
function labelsOf(scope: PurgeScope): readonly string[] {
  if (scope.kind === 'labels') return scope.labels
  if (scope.kind === 'tags') return scope.tags.flatMap((tag) => TAG.exec(tag)?.[1] ?? [])
  return scope.kind === 'pattern' ? (scope.labels ?? []) : []
}

function takenOf(scope: PurgeScope, label: string): Taken {
  switch (scope.kind) {
    case 'everything':
      return 'all'
    case 'labels':
      return scope.labels.includes(label) ? 'all' : []
    case 'pattern':
      return scope.labels === null || scope.labels.includes(label) ? 'all' : []
    case 'tags':
      return scope.tags.filter((tag) => tag.startsWith(`route:${label}:`))
    case 'uris':
      return scope.uris.map(uriTag)
    case 'hosts':
      return scope.hosts.map(hostName)
    case 'prefixes':
      return scope.hosts.map(hostName)
    case 'paths':
      return scope.paths.flatMap((path) => scope.hosts?.map((host) => pathName(path, host)) ?? [pathName(path)])
  }
}
