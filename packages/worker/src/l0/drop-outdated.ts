import { isDeepStrictEqual } from 'node:util'
import type { L0Cache } from '@svc/cache'
import type { Config, SiteConfig } from '@svc/config'
import { type ServingGeneration, secureNames } from '../generation/serving-generation.ts'
import type { WorkerFacts } from '../request/l0-capture.ts'

/**
 * Drops responses that may be different under a new generation: everything when more than sites and logging changed, else the entries of
 * sites that changed, and those of hosts that another site has now. With vhost files every change of what hosts lead to drops
 * everything.
 */
export function dropOutdated<Block>(
  cache: L0Cache<Block, WorkerFacts>,
  next: ServingGeneration,
  previous: ServingGeneration,
): void {
  const hasVhosts = next.hasVhosts || previous.hasVhosts
  const areSameRules = isDeepStrictEqual(rulesOf(next.config), rulesOf(previous.config))
  if (
    !areSameRules ||
    !isDeepStrictEqual(pluginsOf(next), pluginsOf(previous)) ||
    !areSentToHttpsAlike(next, previous) ||
    (hasVhosts && !isDeepStrictEqual(addressesOf(next), addressesOf(previous)))
  ) {
    cache.clear()
    return
  }
  const isUnchanged = memoized((site) => answersAlike(next.sites.get(site)?.config, previous.sites.get(site)?.config))
  if (hasVhosts) {
    cache.dropWhere(({ site }) => !isUnchanged(site))
    return
  }
  const siteOf = memoized((host) => next.siteOf(host)?.config.id)
  cache.dropWhere(({ site, purgeables }) => {
    return !isUnchanged(site) || purgeables.some(({ host }) => siteOf(host) !== site)
  })
}

/** True if a site has the same settings, but for its share in the caches. */
function answersAlike(next: SiteConfig | undefined, previous: SiteConfig | undefined): boolean {
  if (next === undefined || previous === undefined || next === previous) return next === previous
  return isDeepStrictEqual({ ...next, cache_weight: 1 }, { ...previous, cache_weight: 1 })
}

/** True if plain HTTP of the same hosts is answered with a redirect. */
function areSentToHttpsAlike({ spec }: ServingGeneration, before: ServingGeneration): boolean {
  return !spec.config.tls.redirect_http || isDeepStrictEqual(secureNames(spec), secureNames(before.spec))
}

/** The plugins that requests pass. One that is new, or enabled, has not seen those that led to the entries. */
function pluginsOf({ spec }: ServingGeneration): unknown {
  return spec.plugins?.plugins.map(({ hash, enabled }) => ({ hash, enabled }))
}

/** Settings that decide about responses, beside the sites, which are compared one by one. */
function rulesOf({ logging: _logging, sites: _sites, apps: _apps, ...rules }: Config): unknown {
  return rules
}

/** Settings that decide where a host leads to on an address, and how servers of vhost files respond. */
function addressesOf({ spec, sites }: ServingGeneration): unknown {
  const hosts = [...sites.values()].map(({ config: { id, hostnames, any_host: anyHost } }) => ({ id, hostnames, anyHost }))
  return { web: spec.web, listen: spec.listen, hosts }
}

function memoized<Result>(find: (name: string) => Result): (name: string) => Result {
  const known = new Map<string, Result>()
  return (host) => {
    if (known.has(host)) return known.get(host) as Result
    const found = find(host)
    known.set(host, found)
    return found
  }
}
