import { formatPlace, type Place } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import type { Finding } from '../values/finding.ts'
import type { KeyPath } from '../values/key-path.ts'

/** Returns the place where a key was written. */
export type PlaceOf = (path: KeyPath) => Place

/** A name and where it was given. */
interface Claim {
  readonly name: string
  readonly path: KeyPath
}

/** Finds names given twice and names the place of the first. */
function findRepeats(claims: readonly Claim[], what: string, placeOf: PlaceOf): Finding[] {
  const first = new Map<string, KeyPath>()
  return claims.flatMap(({ name, path }) => {
    const before = first.get(name)
    if (before !== undefined) return [{ path, message: `${what} "${name}" is already taken at ${formatPlace(placeOf(before))}` }]
    first.set(name, path)
    return []
  })
}

function claimsOf(items: readonly object[], base: KeyPath, key: string): Claim[] {
  return items.map((item, index) => ({ name: String((item as Record<string, unknown>)[key]), path: [...base, index, key] }))
}

/** Checks that no two things that are addressed by name share one. */
export function checkUniqueNames(config: Config, placeOf: PlaceOf): Finding[] {
  const siteIds = [...claimsOf(config.sites, ['sites'], 'id'), ...claimsOf(config.apps, ['apps'], 'name')]
  return [
    ...findRepeats(siteIds, 'site id', placeOf),
    ...findRepeats(labelClaims(config), 'label', placeOf),
    ...findRepeats(claimsOf(config.tasks, ['tasks'], 'name'), 'task name', placeOf),
    ...findRepeats(claimsOf(config.admin.users, ['admin', 'users'], 'username'), 'username', placeOf),
    ...findRepeats(claimsOf(config.waf.rules, ['waf', 'rules'], 'id'), 'rule id', placeOf),
    ...findRepeats(claimsOf(config.obs.slos, ['obs', 'slos'], 'name'), 'objective name', placeOf),
    ...findRepeats(claimsOf(config.obs.alerts, ['obs', 'alerts'], 'name'), 'alert name', placeOf),
    ...findRepeats(hostClaims(config), 'host name', placeOf),
  ]
}

/**
 * Stored pages and data are found by label: sites that shared one would be served each other's. Of sites that share an id, which
 * is a mistake of its own, only the first counts.
 */
function labelClaims({ sites, apps }: Config): Claim[] {
  const ids = new Set<string>()
  const claims: Claim[] = []
  const claim = (id: string, name: string, path: KeyPath) => {
    if (!ids.has(id)) claims.push({ name, path })
    ids.add(id)
  }
  for (const [index, { id, label }] of sites.entries()) claim(id, label, ['sites', index, label === id ? 'id' : 'label'])
  for (const [index, { name }] of apps.entries()) claim(name, name, ['apps', index, 'name'])
  return claims
}

function hostClaims(config: Config): Claim[] {
  const ofSites = config.sites.flatMap((site, index) =>
    site.hostnames.map((name, nameIndex) => ({ name, path: ['sites', index, 'hostnames', nameIndex] })),
  )
  // A site on a host of the panel could act as its users.
  const ofPanel = (config.admin.hosts ?? []).map((name, index) => ({ name, path: ['admin', 'hosts', index] }))
  return [...ofSites, ...claimsOf(config.apps, ['apps'], 'hostname'), ...ofPanel]
}
