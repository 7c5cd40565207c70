import { isDeepStrictEqual } from 'node:util'
import { deepFreeze, Pacer } from '@svc/core'
import type { LocationSpec, ServerSpec, WebSpec } from '@svc/vhosts'
import type { PluginSet } from './load/load-plugins.ts'
import type { Config, SiteConfig } from './schema/types.ts'
import { isTable, type KeyPath, setAt, startsWith, valueAt } from './values/key-path.ts'

/** A configuration with its sites, as `loadConfig` returns it. */
export interface ResolvedConfig {
  readonly config: Config
  readonly sites: readonly SiteConfig[]
  /** Absolute path of the directory for compiled modules. */
  readonly moduleDir: string
  /** Content of the vhost files. */
  readonly web: WebSpec
  /** Undefined: there is no `plugins.directory`. */
  readonly plugins?: PluginSet | undefined
}

/** Changes of a reload. */
interface ConfigDiff {
  /** Site ids. */
  readonly sites: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly changed: readonly string[] }
  /** Keys whose new value takes effect after a restart only. */
  readonly needs_restart: readonly string[]
}

/** Keys that cannot change in a running instance. A section stands for each of its keys. */
const restartKeys: readonly KeyPath[] = [
  ['server', 'engine'],
  ['server', 'workers'],
  ['server', 'max_header_bytes'],
  ['server', 'state_dir'],
  ['server', 'run_dir'],
  ['cache', 'dir'],
  ['cache', 'isr', 'max_entries'],
  ['cache', 'isr', 'max_bytes'],
  ['cache', 'isr', 'l2_enabled'],
  ['cache', 'isr', 'l2_ttl_ms'],
  ['cache', 'proxy', 'max_bytes'],
  ['render', 'hosts'],
  ['redis', 'url'],
  ['redis', 'pool_size'],
  ['redis', 'key_prefix'],
  ['admin', 'enabled'],
  ['metrics', 'path'],
  ['health', 'path'],
  ['scaling', 'health_path'],
  ['scaling', 'instance_id'],
  ['endpoints', 'health'],
  ['endpoints', 'metrics'],
  ['endpoints', 'api'],
  ['endpoints', 'obs'],
  ['endpoints', 'admin'],
]

/** Returns true if a new value of a key takes effect after a restart only. */
export function needsRestart(path: KeyPath): boolean {
  return restartKeys.some((key) => startsWith(path, key))
}

function differingRestartKeys(before: Config, after: Config): KeyPath[] {
  return restartKeys.filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
}

/** Drops the places in the file: they do not change the effect. */
function withoutPlaces(server: ServerSpec): unknown {
  const certificates = server.certificates.map((certificate) => ({ ...certificate, at: undefined }))
  return { ...server, certificates, place: '', locations: locationsWithoutPlaces(server.locations) }
}

function locationsWithoutPlaces(locations: readonly LocationSpec[]): unknown[] {
  return locations.map((location) => ({ ...location, place: '', locations: locationsWithoutPlaces(location.locations) }))
}

/** Ids of sites whose servers in vhost files have changed. There may be thousands of servers. */
async function sitesOfChangedServers(before: WebSpec, after: WebSpec): Promise<Set<string>> {
  const old = Map.groupBy(before.servers, ({ site }) => site)
  const changed = new Set<string>()
  const pacer = new Pacer()
  for (const [site, servers] of Map.groupBy(after.servers, (server) => server.site)) {
    if (!isDeepStrictEqual(servers.map(withoutPlaces), old.get(site)?.map(withoutPlaces))) changed.add(site)
    if (pacer.isDue) await pacer.rest()
  }
  return changed
}

/** Compares two configurations. A site of vhost files has changed when one of its servers has. */
export async function configDiff(before: ResolvedConfig, after: ResolvedConfig): Promise<ConfigDiff> {
  const old = new Map(before.sites.map((site) => [site.id, site]))
  const kept = after.sites.filter(({ id }) => old.has(id))
  const ids = new Set(after.sites.map(({ id }) => id))
  const servers = await sitesOfChangedServers(before.web, after.web)
  return {
    sites: {
      added: after.sites.filter(({ id }) => !old.has(id)).map(({ id }) => id),
      removed: before.sites.filter(({ id }) => !ids.has(id)).map(({ id }) => id),
      changed: kept.filter((site) => servers.has(site.id) || !isDeepStrictEqual(site, old.get(site.id))).map(({ id }) => id),
    },
    needs_restart: differingRestartKeys(before.config, after.config).map((path) => path.join('.')),
  }
}

/**
 * Returns `next` with the values of `current` at these dotted paths: settings that need a restart stay as they run, and the rest is
 * applied.
 */
export function pinKeys<T extends object>(next: T, current: T, paths: readonly string[]): T {
  if (paths.length === 0) return next
  const result = structuredClone(next)
  for (const path of paths.map((dotted) => dotted.split('.'))) {
    const value = valueAt(current, path)
    const table = valueAt(result, path.slice(0, -1))
    if (value !== undefined) setAt(result, path, structuredClone(value))
    else if (isTable(table)) delete table[path.at(-1) ?? '']
  }
  return deepFreeze(result)
}
