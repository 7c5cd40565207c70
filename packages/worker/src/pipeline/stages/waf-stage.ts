import type { ServingGeneration } from '../../generation/serving-generation.ts'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'
import { readBody } from '../../waf/body-text.ts'
import { type Firewall, type HeadResult, isWafOff, type WafMatch } from '../../waf/firewall.ts'
import type { Firewalls } from '../../waf/firewalls.ts'
import type { MatchLog } from '../../waf/match-log.ts'
import { RequestForms } from '../../waf/request-forms.ts'
import type { RuleRates } from '../../waf/rule-rates.ts'

/** So much of a body is looked at. */
const MAX_BODY_BYTES = 65_536

/** The parts of the firewall. */
export interface WafParts {
  readonly firewalls: Firewalls
  readonly rates: RuleRates
  readonly log: MatchLog
}

/** Blocks requests that match rules or packs of `[waf]`. The requests of tasks pass: the configuration makes them. */
export class WafStage implements Stage {
  readonly name = 'waf'
  readonly #parts: WafParts

  constructor(parts: WafParts) {
    this.#parts = parts
  }

  isNeeded({ config }: ServingGeneration): boolean {
    return !isWafOff(config.waf)
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const firewall = this.#parts.firewalls.of(context.generation)
    if (firewall === undefined || context.isOwn) return 'next'
    context.enter('waf')
    const forms = new RequestForms(inspected(context))
    if (forms.isCut) this.#parts.log.metrics.uninspected('head')
    const head = firewall.inspectHead(forms)
    // A match is counted and logged for each request, which L0 would not do.
    if (head.looksFurther || head.matches.length > 0) context.withdrawFromL0()
    const mayMatchBody = head.open.length > 0 || (firewall.looksAtBodies && context.body.isPresent)
    if (head.matches.length === 0 && !mayMatchBody) return passed(context)
    return this.#settle(context, firewall, forms, head)
  }

  async #settle(context: RequestContext, firewall: Firewall, forms: RequestForms, head: HeadResult): Promise<StageResult> {
    if (await this.#act(context, head.matches)) return 'answered'
    if (context.body.isPresent) await this.#readBody(context, forms)
    if (await this.#act(context, firewall.inspectBody(forms, head.open))) return 'answered'
    return passed(context)
  }

  /** Carries out matches in their order. Resolves with true if one has blocked the request. */
  async #act(context: RequestContext, matches: readonly WafMatch[]): Promise<boolean> {
    for (const { rule, action, rate } of matches) {
      if (rate !== undefined && !(await this.#parts.rates.isOver(rule, context.client.address))) continue
      const { method, rawPath: path } = context.exchange.request
      const { requestId, client } = context
      this.#parts.log.add({ request_id: requestId, rule, action, site: siteOf(context), client: client.address, method, path })
      if (action === 'monitor') continue
      context.enter('write', 'blocked')
      sendError(context, { status: 403, code: 'forbidden' })
      return true
    }
    return false
  }

  #readBody(context: RequestContext, forms: RequestForms): Promise<void> {
    return new Promise((resolve) => {
      context.body.peek(MAX_BODY_BYTES, (pieces) => {
        const bytes = Buffer.concat(pieces)
        if (bytes.byteLength > MAX_BODY_BYTES) this.#parts.log.metrics.uninspected('body')
        forms.body = readBody(bytes.subarray(0, MAX_BODY_BYTES), context.request.header('content-type') ?? '')
        resolve()
      })
    })
  }
}

function passed(context: RequestContext): StageResult {
  context.enter('router')
  return 'next'
}

function inspected(context: RequestContext) {
  const { method, rawPath, path, query, headers } = context.exchange.request
  return { method, rawPath, path, query, headers, address: context.client.address, site: siteOf(context) }
}

/** The site that the host leads to, which a later stage sets. */
function siteOf({ generation, exchange, client }: RequestContext): string {
  if (!generation.hasVhosts) return generation.siteOf(client.host)?.config.id ?? ''
  const route = generation.route(exchange.request.listener, client.host)
  return route?.site?.config.id ?? route?.vhost?.server.site ?? ''
}
