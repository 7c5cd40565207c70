import type { ParsedConfig } from './config-schema.ts'

/** A value whose every level is read-only. */
type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T

/** Makes keys whose default is computed at load always present. */
type Filled<T, Keys extends keyof T> = Omit<T, Keys> & { [Key in Keys]-?: Exclude<T[Key], undefined> }

type Rule = Filled<ParsedConfig['route_rules'][number], 'action'>
type ParsedSite = Filled<ParsedConfig['sites'][number], 'label' | 'public'>

/** The resolved configuration: keys as in the file, defaults filled in, paths absolute, frozen, plain data. */
export type Config = DeepReadonly<
  Omit<ParsedConfig, 'server' | 'cache' | 'render' | 'scaling' | 'logging' | 'endpoints' | 'route_rules' | 'sites'> & {
    server: Filled<ParsedConfig['server'], 'state_dir' | 'run_dir'>
    cache: Filled<ParsedConfig['cache'], 'dir'>
    render: Filled<ParsedConfig['render'], 'max_threads'>
    scaling: Filled<ParsedConfig['scaling'], 'instance_id'>
    logging: Filled<ParsedConfig['logging'], 'format' | 'access_format'>
    endpoints: Filled<ParsedConfig['endpoints'], 'admin'>
    route_rules: Rule[]
    sites: (Omit<ParsedSite, 'route_rules'> & { route_rules: Rule[] })[]
  }
>

/** A rule for requests whose path matches. */
export type RouteRule = Config['route_rules'][number]

/** A rule of the firewall. */
export type WafRule = Config['waf']['rules'][number]

/** An order that every request to a site gets 503. */
interface Maintenance {
  /** Plain text of the response; undefined: the usual one. */
  readonly message?: string | undefined
  /** Seconds of Retry-After. @default 120 */
  readonly retry_after_secs?: number | undefined
}

/** One site as every process sees it: frozen plain data. */
export interface SiteConfig {
  readonly id: string
  /** Name in cache tags and purges. */
  readonly label: string
  /** Lower-case host names: exact ones and `*.suffix`. */
  readonly hostnames: readonly string[]
  /** Answers on any host: standalone mode. */
  readonly any_host: boolean
  /** Absolute path of the site's directory. Without an application: of its files where all requests share one directory, else "". */
  readonly root: string
  /** Absolute path of its static files; need not exist. */
  readonly public: string
  readonly process: 'in-process' | 'own'
  readonly tenant?: string | undefined
  readonly tls_cert?: string | undefined
  readonly tls_key?: string | undefined
  /** All that the site's code sees as `process.env`. */
  readonly env: Readonly<Record<string, string>>
  /** Local and private targets that the site may fetch: host names, CIDRs, `host:port`. */
  readonly fetch_allow: readonly string[]
  /** True if every local and private target may be fetched: standalone development. */
  readonly fetch_allow_local: boolean
  readonly mode: 'production' | 'development'
  /** Every request gets 503. */
  readonly maintenance: boolean | Maintenance
  /** Share of the caches that the site may fill when others need room, relative to theirs. */
  readonly cache_weight: number
  readonly route_rules: readonly RouteRule[]
  /** False for servers of vhost files that no application answers; undefined: as true. */
  readonly has_app?: boolean | undefined
}

/** Returns true if there is an application: something to render, to watch and to route. */
export function hasApp(site: Pick<SiteConfig, 'has_app'>): boolean {
  return site.has_app !== false
}
