import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import type { Finding } from '../problem.ts'
import type { Variables } from '../source/env-overrides.ts'
import type { KeyPath } from '../source/key-path.ts'
import type { Config, SiteConfig } from '../types.ts'
import { readDotenv } from './read-document.ts'
import { resolveSiteEnv } from './site-env.ts'

/** What sites are built from beside the configuration. */
export interface SiteFacts {
  readonly standalone: { readonly dir: string; readonly production: boolean } | undefined
  readonly osVariables: Variables
  readonly secretNames: ReadonlySet<string>
}

/** The sites of a configuration, or what is wrong with them. */
export interface BuiltSites {
  readonly sites: readonly SiteConfig[]
  readonly findings: readonly Finding[]
  /** `.env` files that were read. */
  readonly files: readonly string[]
}

interface Draft {
  /** Path of the key that gives the root. */
  readonly path: KeyPath
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
  route_rules: [],
} as const satisfies Partial<SiteConfig>

function draftsOf(config: Config, standalone: SiteFacts['standalone']): Draft[] {
  const sites = config.sites.map((site, index) => ({ path: ['sites', index, 'root'], site: { ...plainSite, ...site } }))
  const apps = config.apps.map(({ name, hostname, source }, index) => ({
    path: ['apps', index, 'source'],
    site: { ...plainSite, id: name, label: name, hostnames: [hostname], root: source, public: join(source, 'public') },
  }))
  if (standalone === undefined) return [...sites, ...apps]
  const { dir, production: isProduction } = standalone
  const mode = isProduction ? 'production' : 'development'
  const only = { id: 'default', label: 'default', hostnames: [], any_host: true, root: dir, public: join(dir, 'public') }
  return [{ path: [], site: { ...plainSite, ...only, mode, fetch_allow_local: !isProduction } }, ...sites, ...apps]
}

async function checkRoot({ path, site }: Draft): Promise<Finding[]> {
  try {
    const info = await stat(site.root)
    return info.isDirectory() ? [] : [{ path, message: `${site.root} is not a directory` }]
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT'
    return [{ path, message: isMissing ? `no such directory: ${site.root}` : `cannot read ${site.root}: ${messageOf(error)}` }]
  }
}

async function withEnv(draft: Draft, config: Config, facts: SiteFacts, files: string[]): Promise<SiteConfig | Finding> {
  const { site, path } = draft
  const file = join(site.root, '.env')
  try {
    const dotenv = await readDotenv(file)
    if (dotenv.isThere) files.push(file)
    const { osVariables: os, secretNames } = facts
    const env = resolveSiteEnv({ mode: site.mode, os, site: site.env, shared: config.env, dotenv: dotenv.variables, secretNames })
    return { ...site, env }
  } catch (error) {
    return { path, message: `cannot read ${file}`, hint: codeOf(error) ?? messageOf(error) }
  }
}

/** Makes the list of sites: the standalone one, `[[sites]]` and `[[apps]]`, each with its root checked and its environment resolved. */
export async function buildSites(config: Config, facts: SiteFacts): Promise<BuiltSites> {
  const sites: SiteConfig[] = []
  const findings: Finding[] = []
  const files: string[] = []
  for (const draft of draftsOf(config, facts.standalone)) {
    const rootFindings = await checkRoot(draft)
    findings.push(...rootFindings)
    if (rootFindings.length > 0) continue
    const built = await withEnv(draft, config, facts, files)
    if ('message' in built) findings.push(built)
    else sites.push(built)
  }
  return { sites, findings, files }
}
