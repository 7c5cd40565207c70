import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { ParsedConfig } from './config-schema.ts'
import type { Directories } from './directories.ts'
import type { Config, RouteRule } from './types.ts'

/** Properties of the machine and the terminal that defaults depend on. */
export interface MachineProperties {
  readonly cores: number
  readonly hostname: string
  /** True if log lines go to a terminal. */
  readonly isTerminal: boolean
}

type ParsedRule = ParsedConfig['route_rules'][number]

const THREADS_PER_CORE = 4
const HOSTNAME_CHARACTERS = 48

/** Names the instance after its host; the hash tells two instances on one host apart. */
function instanceIdOf(hostname: string, stateDir: string): string {
  const name = hostname
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, HOSTNAME_CHARACTERS)
  const hash = createHash('sha256').update(`${hostname}\0${stateDir}`).digest('hex').slice(0, 8)
  return name === '' ? hash : `${name}-${hash}`
}

function actionOf(rule: ParsedRule): RouteRule['action'] {
  if (rule.action !== undefined) return rule.action
  if (rule.redirect !== undefined) return 'redirect'
  if (rule.upstream !== undefined) return 'proxy'
  return rule.rewrite === undefined ? 'headers' : 'rewrite'
}

function completeRules(rules: readonly ParsedRule[]): RouteRule[] {
  return rules.map((rule) => ({ ...rule, action: actionOf(rule) }))
}

function completeLogging(logging: ParsedConfig['logging'], { isTerminal }: MachineProperties): Config['logging'] {
  const format = logging.format ?? (isTerminal ? 'pretty' : 'json')
  return { ...logging, format, access_format: logging.access_format ?? (logging.access_file === undefined ? format : 'json') }
}

/** Connection workers of an instance: `server.workers`, where 0 is one for each core. */
export function workerCount({ server }: Pick<Config, 'server'>): number {
  return server.workers === 0 ? availableParallelism() : server.workers
}

/** Fills in every default that is computed rather than written in the schema. */
export function completeConfig(parsed: ParsedConfig, directories: Directories, host: MachineProperties): Config {
  const stateDir = directories.state
  return {
    ...parsed,
    server: { ...parsed.server, state_dir: stateDir, run_dir: directories.run },
    cache: { ...parsed.cache, dir: directories.cache },
    render: { ...parsed.render, max_threads: parsed.render.max_threads ?? THREADS_PER_CORE * host.cores },
    scaling: { ...parsed.scaling, instance_id: parsed.scaling.instance_id ?? instanceIdOf(host.hostname, stateDir) },
    logging: completeLogging(parsed.logging, host),
    endpoints: { ...parsed.endpoints, admin: parsed.endpoints.admin ?? parsed.admin.enabled },
    route_rules: completeRules(parsed.route_rules),
    sites: parsed.sites.map((site) => ({
      ...site,
      label: site.label ?? site.id,
      public: site.public ?? join(site.root, 'public'),
      route_rules: completeRules(site.route_rules),
    })),
  }
}
