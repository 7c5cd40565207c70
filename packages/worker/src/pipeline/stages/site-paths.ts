import { withDeadline } from '@svc/core'
import { normalizePath, type PathCaptures, type RuleTable } from '@svc/http'
import { type HostRoute, hostnameOf } from '../../generation/host-routing.ts'
import type { SiteRuntime } from '../../generation/site-runtime.ts'
import type { RequestContext } from '../../request/request-context.ts'
import { type CompiledRule, decidingRule, type RuleTables } from '../../route-rules/rule-tables.ts'
import { claimOf, type VhostRuntimes } from '../../vhost/index.ts'
import { rulePathOf } from './route-rules-stage.ts'

/** Time that a probe waits for the routes of a site at its first request. */
const DESCRIBE_WAIT_MS = 1_000

type Answer = boolean | Promise<boolean>
type Target = Pick<HostRoute, 'site' | 'vhost'>

/** A path as it was sent, and normalised. */
interface AskedPath {
  readonly rawPath: string
  readonly path: string
}

/** Knows which paths the addressed site defines itself: those go before an endpoint that lies outside of the reserved space. */
export class SitePaths {
  readonly #vhosts: VhostRuntimes
  readonly #rules: RuleTables

  constructor(vhosts: VhostRuntimes, rules: RuleTables) {
    this.#vhosts = vhosts
    this.#rules = rules
  }

  /**
   * Returns true if the site that a request is for defines its path: by a route rule, a static route, a file, or a location that
   * proxies or runs something.
   */
  areDefined(context: RequestContext): Answer {
    const { generation, client, request } = context
    const target: Target = generation.hasVhosts
      ? (generation.route(request.listener, client.host) ?? { site: undefined, vhost: undefined })
      : { site: generation.siteOf(client.host), vhost: undefined }
    const rules = this.#rules.of(generation, target.site)
    return rules.length === 0 ? this.#isTargets(context, target, request) : this.#afterRules(context, target, rules)
  }

  #afterRules(context: RequestContext, target: Target, rules: readonly RuleTable<CompiledRule>[]): Answer {
    const { request, client } = context
    const path = rulePathOf(context, target.vhost)
    // The rules refuse a path that they cannot read.
    if (path === undefined) return true
    const match = decidingRule(rules, { path, hostname: hostnameOf(client.host), method: request.method })
    if (match === undefined) return this.#isTargets(context, target, request)
    const { act } = match.rule
    if (act.kind !== 'rewrite' || areEmpty(match.captures)) return true
    // A rule that moves many paths is a catch-all: its target decides.
    const [rawPath = ''] = act.target(match.captures, '').split('?')
    return this.#isTargets(context, target, { rawPath, path: normalizePath(rawPath) ?? '' })
  }

  #isTargets(context: RequestContext, { site, vhost }: Target, { rawPath, path }: AskedPath): Answer {
    if (vhost === undefined) return isOfSite(site, path)
    const claim = claimOf(context, rawPath, vhost, this.#vhosts.of(context.generation))
    return claim.kind === 'app' ? isOfSite(context.generation.sites.get(claim.site), claim.path) : claim.kind === 'claimed'
  }
}

function areEmpty({ names, wildcards, rest }: PathCaptures): boolean {
  return names.size === 0 && wildcards.length === 0 && rest === undefined
}

function isOfSite(site: SiteRuntime | undefined, path: string): Answer {
  if (site === undefined) return false
  const isDefined = (app: SiteRuntime['knownApp']) => app !== undefined && (app.files.has(path) || app.routes.isStaticRoute(path))
  if (site.knownApp !== undefined) return isDefined(site.knownApp)
  // A site that cannot be described now defines nothing: a probe must be answered just then.
  const described = withDeadline(site.app(), DESCRIBE_WAIT_MS, 'the routes of a site')
  return described.catch(() => undefined).then(isDefined)
}
