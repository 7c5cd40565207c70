import { type RouteRule, readRuleUpstream } from '@svc/config'
import { Pacer, RecentWeakMap } from '@svc/core'
import {
  compilePathPattern,
  compileTarget,
  decodePath,
  type HeaderList,
  type RuleMatch,
  type RuleRequest,
  RuleTable,
  type RuleTarget,
} from '@svc/http'
import type { ProxySpec } from '@svc/vhosts'
import { WorkerError } from '../errors/errors.ts'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { SiteRuntime } from '../generation/site-runtime.ts'
import { plainCache } from '../proxy-cache/index.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { LocationHandler, LocationHandlers } from '../vhost/location-handler.ts'

/** The effect of a rule on a request. */
export type RuleAct =
  /** Only its fields apply: the next rule is checked. */
  | { readonly kind: 'headers' }
  | { readonly kind: 'block' }
  | { readonly kind: 'redirect'; readonly status: number; readonly target: RuleTarget }
  | { readonly kind: 'rewrite'; readonly target: RuleTarget }
  /** `stripped`: prefix that is left out of the path, without a final slash; "" for none. */
  | { readonly kind: 'proxy'; readonly handler: LocationHandler; readonly stripped: string }

/** A rule, ready to be matched. */
export interface CompiledRule extends Pick<RouteRule, 'pattern' | 'host' | 'methods'> {
  /** Fields of whatever answers. */
  readonly headers: HeaderList
  readonly act: RuleAct
}

/** Compiles the rules of a list, in their order. */
function compileRules(rules: readonly RouteRule[], handlers: LocationHandlers): RuleTable<CompiledRule> {
  return new RuleTable(
    rules.map((rule) => {
      const { pattern, host, methods, headers } = rule
      return { pattern, host, methods, headers: Object.entries(headers), act: actOf(rule, handlers) }
    }),
  )
}

function actOf(rule: RouteRule, handlers: LocationHandlers): RuleAct {
  const { action, redirect, redirect_status: status, rewrite, upstream, strip_prefix: stripPrefix } = rule
  const targetOf = (text: string) => compileTarget(text, compilePathPattern(rule.pattern))
  if (action === 'block') return { kind: 'block' }
  if (action === 'redirect' && redirect !== undefined) return { kind: 'redirect', status, target: targetOf(redirect) }
  if (action === 'rewrite' && rewrite !== undefined) return { kind: 'rewrite', target: targetOf(rewrite) }
  if (action !== 'proxy' || upstream === undefined) return { kind: 'headers' }
  const stripped = (stripPrefix ?? '').replace(/\/+$/, '')
  return { kind: 'proxy', handler: handlers.make(ruleContent(upstream, stripped)), stripped }
}

type Tables = ReadonlyMap<readonly RouteRule[], RuleTable<CompiledRule>>

/** The route rules of all generations, each compiled when it is prepared. */
export class RuleTables {
  readonly #tables = new RecentWeakMap<ServingGeneration, Tables>()

  /** Compiles the rules of a generation, with the handlers of those that name an upstream. Does not block the process. */
  async prepare(generation: ServingGeneration, handlers: LocationHandlers): Promise<void> {
    const tables = new Map<readonly RouteRule[], RuleTable<CompiledRule>>()
    const pacer = new Pacer()
    for (const { route_rules: rules } of [generation.config, ...[...generation.sites.values()].map(({ config }) => config)]) {
      if (rules.length === 0) continue
      tables.set(rules, compileRules(rules, handlers))
      if (pacer.isDue) await pacer.rest()
    }
    this.#tables.set(generation, tables)
  }

  /**
   * The rules for requests to a site, in the order in which they are asked: those of the configuration, then those of the site.
   * @throws WORKER_NOT_PREPARED
   */
  of(generation: ServingGeneration, site: SiteRuntime | undefined): readonly RuleTable<CompiledRule>[] {
    const common = generation.config.route_rules
    const own = site?.config.route_rules ?? none
    if (common.length === 0 && own.length === 0) return none
    const tables = this.#tables.get(generation)
    if (tables === undefined) throw new WorkerError('WORKER_NOT_PREPARED', 'the rules of this generation were not prepared')
    return [common, own].flatMap((rules) => tables.get(rules) ?? none)
  }
}

const none: readonly never[] = []

/** The rule that decides about a request: the first that does more than set fields. */
export function decidingRule(
  tables: readonly RuleTable<CompiledRule>[],
  request: RuleRequest,
): RuleMatch<CompiledRule> | undefined {
  for (const table of tables) {
    for (const match of table.matches(request)) {
      if (match.isForMethod && match.rule.act.kind !== 'headers') return match
    }
  }
  return undefined
}

/**
 * The path as locations read it, so that no other spelling of it passes by a rule: fully decoded. Where a path leads out of the
 * root, sites of the configuration file read it as if it did not.
 */
export function rulePathOf({ request }: RequestContext, vhost: VhostMatch | undefined): string | undefined {
  const decoded = decodePath(request.rawPath) ?? (vhost === undefined ? decodePath(request.path) : undefined)
  return decoded?.path
}

const TIMEOUT_MS = 60_000

/**
 * Turns the upstream of a rule into the content of a location. Responses are cached, WebSockets are passed on, and the upstream
 * gets the client, scheme and host in X-Forwarded-For, -Proto and -Host.
 * @param upstream URL, or name of an upstream
 * @param stripped prefix that is left out of the path, where it begins with it, without a final slash; "" for none
 */
function ruleContent(upstream: string, stripped: string): { readonly kind: 'proxy' } & ProxySpec {
  const { scheme, user, host, path, group } = readRuleUpstream(upstream)
  const isChanged = stripped !== '' || path !== '/'
  return {
    kind: 'proxy',
    scheme,
    target: { kind: 'fixed', upstream: group, host },
    uri: isChanged ? [path] : undefined,
    connectMs: TIMEOUT_MS,
    readMs: TIMEOUT_MS,
    sendMs: TIMEOUT_MS,
    setHeaders: [
      { name: 'x-forwarded-for', value: [{ variable: 'proxy_add_x_forwarded_for' }] },
      { name: 'x-forwarded-proto', value: [{ variable: 'scheme' }] },
      { name: 'x-forwarded-host', value: [{ variable: 'http_host' }] },
      { name: 'upgrade', value: ['websocket'] },
      { name: 'connection', value: ['upgrade'] },
      ...(user === undefined ? [] : [{ name: 'authorization', value: [`Basic ${Buffer.from(user).toString('base64')}`] }]),
    ],
    httpVersion: '1.1',
    isBuffered: true,
    // Unlike proxy_pass, which follows nginx: the URL names the host. A socket has no name.
    tls: { sendsName: true, isVerified: !host.startsWith('unix:') },
    nextUpstream: ['error', 'timeout'],
    maxTries: 0,
    triesMs: 0,
    passesFields: true,
    passesBody: true,
    resolver: undefined,
    redirects: 'default',
    hideHeaders: [],
    ignoredFields: [],
    passHeaders: [],
    interceptsErrors: false,
    cache: plainCache,
  }
}
