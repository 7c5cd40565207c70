import type { Variables } from '../source/env-overrides.ts'

/** Where a site's environment comes from, the strongest first but for NODE_ENV. */
export interface SiteEnvSources {
  readonly mode: 'production' | 'development'
  readonly os: Variables
  /** `env` of the site. */
  readonly site: Readonly<Record<string, string>>
  /** `[env]` of the configuration. */
  readonly shared: Readonly<Record<string, string>>
  /** The site's `.env` file. */
  readonly dotenv: Variables
  /** Variables of the operating system that hold secrets of the server. */
  readonly secretNames: ReadonlySet<string>
}

/**
 * Puts together what a site's code sees as `process.env`: NODE_ENV, which follows the mode, and the keys that the configuration
 * or the site's `.env` name. A value of the operating system wins over a configured one, except where it belongs to the server
 * itself: otherwise a site could read the server's secrets by naming them.
 */
export function resolveSiteEnv(sources: SiteEnvSources): Record<string, string> {
  const named: Variables = { ...sources.dotenv, ...sources.shared, ...sources.site }
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(named)) {
    const isServersOwn = name.startsWith('SVC_') || sources.secretNames.has(name)
    const resolved = (isServersOwn ? undefined : sources.os[name]) ?? value
    if (resolved !== undefined) env[name] = resolved
  }
  env.NODE_ENV = sources.mode
  return env
}
