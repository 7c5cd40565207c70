import type { HeaderList } from '@svc/http'
import type { WafEventPage, WafEventQuery, WafModeOrder, WafRemoval, WafRuleOrder } from '@svc/protocol'

/** A rule of the firewall, as in `[[waf.rules]]`. */
export interface WafRuleSummary {
  readonly id: string
  /** Undefined: of every site. */
  readonly site?: string | undefined
  readonly action: 'monitor' | 'block'
  readonly when: object
  readonly rate?: object | undefined
}

/** A request to try the firewall with. */
export interface WafProbe {
  readonly method: string
  /** With query. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: HeaderList
  readonly body: string | undefined
  /** Address of the client; "" for none. */
  readonly address: string
}

/** The effect of the firewall on a request. */
export interface WafVerdict {
  readonly action: 'pass' | 'monitor' | 'block'
  /** Id of the rule, or name of the pack; null: none matches. */
  readonly rule: string | null
  readonly matched: boolean
}

/** The firewall. Calls reject if the master is unreachable, or with its error. */
export interface Waf {
  mode(): 'off' | 'monitor' | 'block'
  packs(): Readonly<Record<string, 'off' | 'monitor' | 'block'>>
  rules(): readonly WafRuleSummary[]
  /** Decides as the firewall in service would, for a client below all rates. Counts nothing. */
  test(probe: WafProbe): WafVerdict
  /** The last matches, the newest first. */
  events(query: WafEventQuery): Promise<WafEventPage>
  /** Resolves when every worker follows. @throws SUP_OVERRIDE */
  setMode(order: WafModeOrder): Promise<void>
  /** Adds or replaces a rule; resolves when every worker follows. @throws SUP_RULE_EXISTS, SUP_UNKNOWN_RULE, SUP_RULE_LIMIT, SUP_OVERRIDE */
  setRule(order: Omit<WafRuleOrder, 'rule'> & { readonly rule: WafRuleSummary }): Promise<void>
  /** Resolves when every worker follows. @throws SUP_UNKNOWN_RULE, SUP_OVERRIDE */
  removeRule(order: WafRemoval): Promise<void>
}
