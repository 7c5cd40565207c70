import { normalizePath, type RuleMatch, type RuleRequest, type RuleTable } from '@svc/http'
import { hostnameOf } from '../../generation/host-routing.ts'
import type { ServingGeneration } from '../../generation/serving-generation.ts'
import { sendError, sendFailure, sendStatus } from '../../request/error-response.ts'
import { afterRoute } from '../../request/plugin-passage.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { rewrittenRequest } from '../../request/rewritten-request.ts'
import { offerPathToL0 } from '../../request/site-request.ts'
import { RuleExchange } from '../../route-rules/rule-exchange.ts'
import { type CompiledRule, type RuleAct, type RuleTables, rulePathOf } from '../../route-rules/rule-tables.ts'
import { noSite } from './vhost-stage.ts'

const DOT_SEGMENT = /\/\.\.?(?:\/|$)/

/**
 * Applies `[[route_rules]]`: those of the configuration, then those of the site. The first that does more than set fields is the
 * last one that is looked at; a rewritten request goes on to its location without any.
 */
export class RouteRulesStage implements Stage {
  readonly name = 'route-rules'
  readonly #tables: RuleTables

  constructor(tables: RuleTables) {
    this.#tables = tables
  }

  isNeeded({ config, sites }: ServingGeneration): boolean {
    return config.route_rules.length > 0 || [...sites.values()].some((site) => site.config.route_rules.length > 0)
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const tables = this.#tables.of(context.generation, context.site)
    const result = tables.length === 0 ? 'next' : this.#apply(context, tables)
    if (result !== 'next' || context.site !== undefined || context.vhost !== undefined) return result
    return noSite(context)
  }

  #apply(context: RequestContext, tables: readonly RuleTable<CompiledRule>[]): StageResult | Promise<StageResult> {
    const path = rulePathOf(context, context.vhost)
    if (path === undefined) {
      // It is unknown which rules cover it: it must not bypass them.
      sendStatus(context, 400)
      return 'answered'
    }
    const request: RuleRequest = { path, hostname: hostnameOf(context.client.host), method: context.request.method }
    for (const table of tables) {
      for (const match of table.matches(request)) {
        // L0 answers HEAD with its entry for GET: if a rule is for one of them alone, the response stays out of L0.
        if (match.tellsHeadFromGet) context.withdrawFromL0()
        if (!match.isForMethod) continue
        setFields(context, match.rule)
        const { act } = match.rule
        if (act.kind === 'headers') continue
        if (context.plugins === undefined || act.kind === 'rewrite') return this.#act(context, act, match, path)
        const route = { site: context.site?.config.id, kind: 'rule', pattern: match.rule.pattern } as const
        return afterRoute(context.plugins, route, () => this.#act(context, act, match, path))
      }
    }
    return 'next'
  }

  #act(
    context: RequestContext,
    act: Exclude<RuleAct, { kind: 'headers' }>,
    { captures }: RuleMatch<CompiledRule>,
    path: string,
  ): StageResult | Promise<StageResult> {
    switch (act.kind) {
      case 'block':
        sendStatus(context, 403)
        return 'answered'
      case 'redirect':
        offer(context)
        context.respond({ status: act.status, headers: [['location', act.target(captures, context.request.query)]] })
        return 'answered'
      case 'rewrite':
        return rewrite(context, act.target(captures, context.request.query))
      case 'proxy': {
        if (!context.body.limit(context.generation.config.server.max_body_bytes)) {
          sendStatus(context, 413)
          return 'answered'
        }
        const done = act.handler.handle(new RuleExchange(context, act.stripped, path))
        return done instanceof Promise ? done.then((): StageResult => 'answered', failed(context)) : 'answered'
      }
    }
  }
}

/** A later rule for a field replaces an earlier one. */
function setFields(context: RequestContext, { headers }: CompiledRule): void {
  if (headers.length === 0) return
  const kept = context.ruleHeaders.filter(([name]) => !headers.some(([own]) => own === name))
  context.ruleHeaders = [...kept, ...headers]
}

function rewrite(context: RequestContext, target: string): StageResult {
  const question = target.indexOf('?')
  const rawPath = question === -1 ? target : target.slice(0, question)
  const path = normalizePath(rawPath)
  // The text that matched a "*" may be dots.
  if (DOT_SEGMENT.test(rawPath)) {
    sendStatus(context, 404)
    return 'answered'
  }
  if (path === undefined) {
    sendError(context, { status: 500, code: 'bad_rewrite', detail: 'A route rule rewrote to an invalid path.' })
    return 'answered'
  }
  const query = question === -1 ? '' : target.slice(question + 1)
  context.request = rewrittenRequest(context.request, { rawPath, path, query })
  return 'next'
}

/** A redirect of a rule depends only on the rules and on the key of L0. */
function offer(context: RequestContext): void {
  const { path, rawPath } = context.exchange.request
  if (rawPath === path) offerPathToL0(context, path)
}

function failed(context: RequestContext): (error: unknown) => StageResult {
  return (error) => {
    sendFailure(context, error)
    return 'answered'
  }
}
