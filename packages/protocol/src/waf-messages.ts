import { type Guarded, guard } from '@svc/core'

/** A request that a rule or pack of the firewall matched. */
const wafEvent = guard.object({
  /** RFC 3339 in UTC. */
  at: guard.string,
  request_id: guard.string,
  /** Id of the rule, or name of the pack. */
  rule: guard.string,
  action: guard.oneOf('monitor', 'block'),
  /** Id of the site; "": none. */
  site: guard.string,
  /** Address of the client. */
  client: guard.string,
  method: guard.string,
  /** Without query. */
  path: guard.string,
})
export type WafEvent = Guarded<typeof wafEvent>

/** Events of a worker since its last batch. `dropped`: so many came too fast to be sent. */
export const wafBatch = guard.object({ events: guard.arrayOf(wafEvent), dropped: guard.number })

const numberedEvent = guard.object({ number: guard.number, event: wafEvent })
export type NumberedWafEvent = Guarded<typeof numberedEvent>

/** Selects events. */
export const wafEventQuery = guard.object({
  /** Ids of sites; undefined: of all. */
  sites: guard.optional(guard.arrayOf(guard.string)),
  rule: guard.optional(guard.string),
  action: guard.optional(guard.string),
  limit: guard.number,
  /** Cursor of the page before. */
  before: guard.optional(guard.number),
})
export type WafEventQuery = Guarded<typeof wafEventQuery>

/** Events, the newest first. */
export const wafEventPage = guard.object({ events: guard.arrayOf(wafEvent), cursor: guard.nullable(guard.number) })
export type WafEventPage = Guarded<typeof wafEventPage>

/** A match of a rule with a rate, to be counted. Clients are named as `clientNetwork` does. */
export const rateOrder = guard.object({ rule: guard.string, client: guard.string })

/** `retryMs`: until the client is below the rate again, where it is over it. */
export const rateReply = guard.object({ isOver: guard.boolean, retryMs: guard.number })

/** Changes the mode of the firewall. */
export const wafModeOrder = guard.object({ mode: guard.oneOf('off', 'monitor', 'block'), username: guard.string })
export type WafModeOrder = Guarded<typeof wafModeOrder>

/** Adds a rule, or replaces one. The rule is checked as one of the configuration is. */
export const wafRuleOrder = guard.object({
  id: guard.string,
  rule: guard.anything,
  /** True: the rule must not exist yet. False: it must. */
  isNew: guard.boolean,
  /** True: the rules of all sites of the tenant must stay within its limits. */
  isOfTenant: guard.optional(guard.boolean),
  username: guard.string,
})
export type WafRuleOrder = Guarded<typeof wafRuleOrder>

/** Removes a rule. */
export const wafRemoval = guard.object({ id: guard.string, username: guard.string })
export type WafRemoval = Guarded<typeof wafRemoval>
