import { type EnvSources, moveSite, type SiteConfig } from '@svc/config'
import { deepFreeze, guard } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { serverIds } from '@svc/protocol'
import type { Overridable, Setting } from './setting.ts'
import { wafSetting } from './waf-settings.ts'

type Group = Overridable['web']['upstreams'][number]

interface SiteSetting {
  read(site: SiteConfig): unknown
  write(site: SiteConfig, value: unknown, sources: EnvSources): SiteConfig | Promise<SiteConfig>
}

/** The value of `sites.<id>.release`: a site is at the root of a release. */
export const releaseValue = guard.object({ root: guard.string, id: guard.optional(guard.string) })

/** The settings of a site, by the last part of `sites.<id>.<name>`. */
const siteSettings: Readonly<Record<string, SiteSetting>> = {
  maintenance: {
    read: ({ maintenance }) => maintenance,
    write: (site, value) => ({ ...site, maintenance: value as SiteConfig['maintenance'] }),
  },
  release: {
    read: ({ root }) => ({ root }),
    async write(site, value, sources) {
      const moved = await moveSite(site, releaseValue(value, 'release').root, sources)
      if ('message' in moved)
        throw new SupervisorError('SUP_OVERRIDE', `a release of ${site.id} cannot be served: ${moved.message}`)
      return moved
    },
  },
}

/** Finds the value of a key. Undefined: the configuration has no such site, group or server, or the value cannot be overridden. */
export function settingOf(key: string, served: Overridable): Setting | undefined {
  if (key.startsWith('upstreams.')) return downSetting(key, served)
  if (key.startsWith('waf.')) return wafSetting(key, served)
  if (key.startsWith('plugins.')) return pluginSetting(key, served)
  return key.startsWith('tasks.') ? taskSetting(key, served) : siteSetting(key, served)
}

/** The key that enables a task. */
export function enabledKey(task: string): string {
  return `tasks.${task}.enabled`
}

function taskSetting(key: string, { config }: Overridable): Setting | undefined {
  const own = config.tasks.find(({ name }) => key === enabledKey(name))
  if (own === undefined) return undefined
  return {
    value: own.enabled,
    async write(served, enabled) {
      if (typeof enabled !== 'boolean') throw new SupervisorError('SUP_OVERRIDE', `${key} must be true or false`)
      const tasks = served.config.tasks.map((task) => (task.name === own.name ? { ...task, enabled } : task))
      return { ...served, config: deepFreeze({ ...served.config, tasks }) }
    },
  }
}

/** The key that enables a plugin. */
export function pluginKey(name: string): string {
  return `plugins.${name}.enabled`
}

function pluginSetting(key: string, { plugins: set }: Overridable): Setting | undefined {
  const own = set?.plugins.find(({ name }) => key === pluginKey(name))
  if (own === undefined) return undefined
  return {
    value: own.enabled,
    async write(served, enabled) {
      if (typeof enabled !== 'boolean') throw new SupervisorError('SUP_OVERRIDE', `${key} must be true or false`)
      if (served.plugins === undefined) return served
      const plugins = served.plugins.plugins.map((plugin) => (plugin.name === own.name ? { ...plugin, enabled } : plugin))
      return { ...served, plugins: deepFreeze({ ...served.plugins, plugins }) }
    },
  }
}

/** A site as it would be with another value. @throws SUP_OVERRIDE if that is impossible */
export async function previewSite(key: string, value: unknown, site: SiteConfig, sources: EnvSources): Promise<SiteConfig> {
  return (await siteKey(key).setting?.write(site, value, sources)) ?? site
}

function siteKey(key: string): { readonly id: string | undefined; readonly setting: SiteSetting | undefined } {
  const [, id, name = ''] = /^sites\.(.+)\.([a-z]+)$/.exec(key) ?? []
  return { id, setting: Object.hasOwn(siteSettings, name) ? siteSettings[name] : undefined }
}

function siteSetting(key: string, { sites }: Overridable): Setting | undefined {
  const { id, setting } = siteKey(key)
  const own = sites.find((site) => site.id === id)
  if (setting === undefined || own === undefined) return undefined
  return {
    value: setting.read(own),
    async write(served, value, sources) {
      const write = async (site: SiteConfig) => (site.id === id ? deepFreeze(await setting.write(site, value, sources)) : site)
      return { ...served, sites: await Promise.all(served.sites.map(write)) }
    },
  }
}

/** The error of a key whose value cannot be overridden. */
export function unknownKey(key: string): SupervisorError {
  if (key.startsWith('upstreams.')) return new SupervisorError('UNKNOWN_UPSTREAM', { key })
  if (key.startsWith('plugins.')) return new SupervisorError('SUP_UNKNOWN_PLUGIN', `${key}: there is no such plugin`)
  if (key.startsWith('tasks.')) return new SupervisorError('SUP_UNKNOWN_TASK', `${key}: there is no such task`)
  const [, id = key] = /^sites\.(.+)\.[a-z]+$/.exec(key) ?? []
  return new SupervisorError('SUP_UNKNOWN_SITE', `there is no site ${id}`)
}

/** The key of a server of an upstream group, by its name there: see `serverIds`. */
export function downKey(upstream: string, server: string): string {
  return `upstreams.${upstream}.${server}.down`
}

/** `upstreams.<name>.<server>.down`. Names and addresses have dots: the groups of the configuration say where one ends. */
function downSetting(key: string, { web }: Overridable): Setting | undefined {
  const named = web.upstreams.flatMap(({ name, servers }) => serverIds(servers).map((id, at) => ({ name, id, at, servers })))
  const [one, ...others] = named.filter(({ name, id }) => downKey(name, id) === key)
  if (one === undefined) {
    const alike = named.filter(({ name, servers, at }) => downKey(name, servers[at]?.address ?? '') === key)
    return alike.length === 0 ? undefined : ambiguous(`${key} means several servers: ${alike.map(({ id }) => id).join(', ')}`)
  }
  if (others.length > 0) return ambiguous(`${key} means servers of ${others.length + 1} groups`)
  const { name, at } = one
  return {
    value: one.servers[at]?.isDown,
    async write(served, isDown) {
      if (typeof isDown !== 'boolean') throw new SupervisorError('SUP_OVERRIDE', `${key} must be true or false`)
      const changed = (group: Group) => {
        const servers = group.servers.map((server, index) => (index === at ? { ...server, isDown } : server))
        return group.name === name ? deepFreeze({ ...group, servers }) : group
      }
      return { ...served, web: { ...served.web, upstreams: served.web.upstreams.map(changed) } }
    },
  }
}

function ambiguous(problem: string): Setting {
  return { value: undefined, write: () => Promise.reject(new SupervisorError('SUP_OVERRIDE', problem)) }
}
