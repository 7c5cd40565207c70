import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import type { ConfigProblem, Place, SiteDraft } from '@svc/vhosts'
import { type Config, hasApp, type SiteConfig } from '../schema/types.ts'
import type { Variables } from '../source/env-overrides.ts'
import type { Finding } from '../values/finding.ts'
import type { KeyPath } from '../values/key-path.ts'
import { readDotenv } from './read-document.ts'

/** Inputs of sites besides the configuration. */
interface SiteInputs {
  /** Sites of vhost files. */
  readonly vhosts: readonly SiteDraft[]
  readonly standalone: { readonly dir: string; readonly production: boolean } | undefined
  readonly osVariables: Variables
  readonly secretNames: ReadonlySet<string>
}

/** The sites of a configuration, and their problems. */
interface BuiltSites {
  readonly sites: readonly SiteConfig[]
  readonly findings: readonly Finding[]
  /** Problems of sites of vhost files. */
  readonly problems: readonly ConfigProblem[]
  /** `.env` files that were read. */
  readonly files: readonly string[]
}

interface Draft {
  /** Path of the key that gives the root; undefined for a site of a vhost file. */
  readonly path: KeyPath | undefined
  /** The place of a vhost file that names the application. */
  readonly place?: Place
  /** The site with its own `env` alone. */
  readonly site: SiteConfig
}

const plainSite = {
  any_host: false,
  process: 'in-process',
  env: {},
  fetch_allow: [],
  fetch_allow_local: false,
  mode: 'production',
  maintenance: false,
  cache_weight: 1,
  route_rules: [],
} as const satisfies Partial<SiteConfig>

function vhostDraft({ app, files, place, ...site }: SiteDraft): Draft {
  const root = app ?? files
  const resolved = { ...site, root, public: app === undefined ? files : join(app, 'public'), has_app: app !== undefined }
  return { path: undefined, place, site: { ...plainSite, ...resolved } }
}

function draftsOf(config: Config, { standalone, vhosts }: SiteInputs): Draft[] {
  const sites = config.sites.map((site, index) => ({ path: ['sites', index, 'root'], site: { ...plainSite, ...site } }))
  const apps = config.apps.map(({ name, hostname, source }, index) => ({
    path: ['apps', index, 'source'],
    site: { ...plainSite, id: name, label: name, hostnames: [hostname], root: source, public: join(source, 'public') },
  }))
  const served = [...sites, ...apps, ...vhosts.map(vhostDraft)]
  if (standalone === undefined) return served
  const { dir, production: isProduction } = standalone
  const mode = isProduction ? 'production' : 'development'
  const only = { id: 'default', label: 'default', hostnames: [], any_host: true, root: dir, public: join(dir, 'public') }
  return [{ path: [], site: { ...plainSite, ...only, mode, fetch_allow_local: !isProduction } }, ...served]
}

/** Something wrong with a site's directory. */
interface Fault {
  readonly message: string
  readonly hint?: string
}

async function rootFault({ site }: Draft): Promise<Fault | undefined> {
  // The files of a server without an application are not checked until they are requested, as in nginx.
  if (!hasApp(site)) return undefined
  try {
    const info = await stat(site.root)
    return info.isDirectory() ? undefined : { message: `${site.root} is not a directory` }
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT'
    return { message: isMissing ? `no such directory: ${site.root}` : `cannot read ${site.root}: ${messageOf(error)}` }
  }
}

async function withEnv(
  { site }: Draft,
  config: Pick<Config, 'env'>,
  inputs: Pick<SiteInputs, 'osVariables' | 'secretNames'>,
  files: string[],
): Promise<SiteConfig | Fault> {
  if (!hasApp(site)) return site
  const file = join(site.root, '.env')
  const dotenv = await readDotenv(file)
  if (!dotenv.ok) return { message: `cannot read ${file}`, hint: dotenv.why }
  if (dotenv.isThere) files.push(file)
  const { osVariables: os, secretNames } = inputs
  const env = resolveSiteEnv({ mode: site.mode, os, site: site.env, shared: config.env, dotenv: dotenv.variables, secretNames })
  return { ...site, env }
}

/** The sources of the environment of sites. */
export interface EnvSources {
  readonly config: Pick<Config, 'env' | 'sites'>
  /** Variables of the operating system. */
  readonly variables: Variables
  readonly secretNames: readonly string[]
}

/**
 * Moves a site to another root: with the `.env` there, and the `public` there if that of the site lies in its root. Returns the
 * reason when that is impossible.
 */
export async function moveSite(
  site: SiteConfig,
  root: string,
  sources: EnvSources,
): Promise<SiteConfig | { readonly message: string }> {
  const { config, variables: osVariables, secretNames } = sources
  const path = relative(site.root, site.public)
  const isOutside = path === '..' || path.startsWith(`..${sep}`)
  const own = config.sites.find(({ id }) => id === site.id)?.env ?? {}
  const moved = { ...site, root, public: isOutside ? site.public : join(root, path), env: own }
  const draft: Draft = { path: undefined, site: moved }
  const fault = await rootFault(draft)
  return fault ?? withEnv(draft, config, { osVariables, secretNames: new Set(secretNames) }, [])
}

/**
 * Makes the list of sites: the standalone one, `[[sites]]`, `[[apps]]` and those of vhost files, each with its root checked
 * and its environment resolved.
 */
export async function buildSites(config: Config, inputs: SiteInputs): Promise<BuiltSites> {
  const sites: SiteConfig[] = []
  const findings: Finding[] = []
  const problems: ConfigProblem[] = []
  const files: string[] = []
  for (const draft of draftsOf(config, inputs)) {
    const built = (await rootFault(draft)) ?? (await withEnv(draft, config, inputs, files))
    if (!('message' in built)) sites.push(built)
    else if (draft.path !== undefined) findings.push({ path: draft.path, ...built })
    else if (draft.place !== undefined) problems.push({ ...draft.place, path: '', ...built })
  }
  return { sites, findings, problems, files }
}

/** The sources of a site's environment, the strongest first but for NODE_ENV. */
interface SiteEnvSources {
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
 * Merges the variables that a site's code sees as `process.env`: NODE_ENV, which follows the mode, and the keys that the configuration
 * or the site's `.env` name. A value of the operating system wins over a configured one, except where it belongs to the server
 * itself: otherwise a site could read the server's secrets by naming them.
 */
function resolveSiteEnv(sources: SiteEnvSources): Record<string, string> {
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
