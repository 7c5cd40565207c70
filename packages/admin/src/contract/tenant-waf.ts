import { createHash } from 'node:crypto'
import { codeOf } from '@svc/core'
import { AdminError } from '../errors/errors.ts'
import type { Sites } from './control-plane.ts'
import { forbidden, ownAmong, requireSite } from './own-sites.ts'
import type { Waf, WafRuleSummary } from './waf.ts'

/**
 * The end of the id under which the rule of a tenant is stored if a rule that the tenant does not see has the id already. The tenant
 * sees its id without this end: a refusal would tell it the ids of others.
 */
function endOf(tenant: string): string {
  return `.${createHash('sha256').update(tenant).digest('hex').slice(0, 8)}`
}

/** The rules of a tenant: those that are bound to its sites, under the ids that it gave them. */
class TenantRules {
  readonly #all: () => readonly WafRuleSummary[]
  readonly #own: Sites
  readonly #end: string

  constructor(waf: Waf, own: Sites, tenant: string) {
    this.#all = () => waf.rules()
    this.#own = own
    this.#end = endOf(tenant)
  }

  list(): WafRuleSummary[] {
    const stored = this.#stored()
    return stored.map((rule) => ({ ...rule, id: this.#shownId(rule.id, stored) }))
  }

  /** The id under which a rule is stored. @throws UNKNOWN_RULE */
  require(id: string): string {
    const stored = this.#stored()
    const found = stored.find((rule) => this.#shownId(rule.id, stored) === id)
    if (found === undefined) throw new AdminError('UNKNOWN_RULE', { id })
    return found.id
  }

  /** Names a rule in a record of a match, where it may be gone by now. */
  nameOf(stored: string): string {
    return this.#shownId(stored, this.#stored())
  }

  /** The id for a rule whose id is taken; undefined: by a rule that the tenant sees. */
  otherId(id: string): string | undefined {
    return this.list().some((rule) => rule.id === id) ? undefined : `${id}${this.#end}`
  }

  #stored(): WafRuleSummary[] {
    const ids = new Set(this.#own.list().map(({ id }) => id))
    return this.#all().filter(({ site }) => site !== undefined && ids.has(site))
  }

  #shownId(id: string, stored: readonly WafRuleSummary[]): string {
    if (!id.endsWith(this.#end)) return id
    const short = id.slice(0, -this.#end.length)
    return short === '' || stored.some((rule) => rule.id === short) ? id : short
  }
}

/** The firewall as the admin of a tenant has it. */
export function wafFor(waf: Waf, own: Sites, tenant: string): Waf {
  const rules = new TenantRules(waf, own, tenant)
  const add = (id: string, order: Parameters<Waf['setRule']>[0]) =>
    waf.setRule({ ...order, id, rule: { ...order.rule, id }, isOfTenant: true })
  return {
    mode: () => waf.mode(),
    packs: () => waf.packs(),
    rules: () => rules.list(),
    test: () => {
      throw new AdminError('NOT_FOR_TENANTS', { operation: 'test the firewall' })
    },
    events: async ({ rule, ...query }) => {
      const page = await waf.events({ ...query, rule, sites: ownAmong(own, query.sites) })
      return { ...page, events: page.events.map((event) => ({ ...event, rule: rules.nameOf(event.rule) })) }
    },
    setMode: forbidden('change the mode of the firewall'),
    setRule: async (order) => {
      const { site } = order.rule
      const id = order.isNew ? order.id : rules.require(order.id)
      if (site === undefined) throw new AdminError('NOT_FOR_TENANTS', { operation: 'change rules that are bound to no site' })
      requireSite(own, site)
      try {
        await add(id, order)
      } catch (error) {
        const other = codeOf(error) === 'SUP_RULE_EXISTS' ? rules.otherId(id) : undefined
        if (other === undefined) throw error
        await add(other, order)
      }
    },
    removeRule: async (order) => waf.removeRule({ ...order, id: rules.require(order.id) }),
  }
}
