import type { Config, WafRule } from '@svc/config'
import { CompiledRule, type Patterns } from './compiled-rule.ts'
import { type Pack, type PackName, packs } from './packs.ts'
import type { RequestForms } from './request-forms.ts'

/** A rule or pack that a request matches. */
export interface WafMatch {
  /** Id of the rule, or name of the pack. */
  readonly rule: string
  /** As `waf.mode` allows it. */
  readonly action: 'monitor' | 'block'
  /** It acts only above this rate of one client. */
  readonly rate: WafRule['rate']
}

/** The result of looking at the head of a request. */
export interface HeadResult {
  /** In the order of the rules, up to the first that blocks at any rate. */
  readonly matches: readonly WafMatch[]
  /** True if the same path and query may have another result next time. */
  readonly looksFurther: boolean
  /** Rules that depend on the body alone by now. */
  readonly open: readonly CompiledRule[]
}

interface ActivePack {
  readonly name: PackName
  readonly action: 'monitor' | 'block'
  readonly pack: Pack
}

const noRules: readonly CompiledRule[] = []

/** True if nothing of the firewall is in use. */
export function isWafOff({ mode, packs: chosen, rules }: Config['waf']): boolean {
  return mode === 'off' || (rules.length === 0 && Object.values(chosen).every((action) => action === 'off'))
}

/** The rules and packs of a configuration, ready to look at requests. */
export class Firewall {
  readonly #mode: 'monitor' | 'block'
  readonly #rules: readonly CompiledRule[]
  readonly #packs: readonly ActivePack[]
  readonly #rulesOf = new Map<string, readonly CompiledRule[]>()
  /** The packs in use may find something in a body. */
  readonly looksAtBodies: boolean

  /** @param made the packs in use, perhaps among others */
  constructor({ mode, rules, packs: chosen }: Config['waf'], patterns: Patterns, made: ReadonlyMap<PackName, Pack>) {
    this.#mode = mode === 'block' ? 'block' : 'monitor'
    this.#rules = rules.map((rule) => new CompiledRule(rule, patterns))
    this.#packs = (Object.keys(packs) as PackName[]).flatMap((name) => {
      const action = chosen[name]
      const pack = made.get(name)
      return action === 'off' || pack === undefined ? [] : [{ name, action: this.#allowed(action), pack }]
    })
    this.looksAtBodies = this.#packs.length > 0
  }

  inspectHead(forms: RequestForms): HeadResult {
    const matches: WafMatch[] = []
    const open: CompiledRule[] = []
    let looksFurther = this.#packs.some(({ pack }) => pack.looksFurther)
    for (const rule of this.#rulesFor(forms.request.site)) {
      const { result, looksFurther: mayDiffer } = rule.matchHead(forms)
      looksFurther ||= mayDiffer
      if (result === 'open') open.push(rule)
      if (result !== 'yes') continue
      if (this.#add(matches, this.#matchOf(rule))) return { matches, looksFurther, open: noRules }
    }
    for (const { name, action, pack } of this.#packs) {
      if (pack.matchesHead(forms) && this.#add(matches, { rule: name, action, rate: undefined }))
        return { matches, looksFurther, open: noRules }
    }
    return { matches, looksFurther, open }
  }

  /** Looks at the body, which the forms have by now. */
  inspectBody(forms: RequestForms, open: readonly CompiledRule[]): readonly WafMatch[] {
    const matches: WafMatch[] = []
    for (const rule of open) if (rule.matchBody(forms) && this.#add(matches, this.#matchOf(rule))) return matches
    if (forms.body === undefined) return matches
    for (const { name, action, pack } of this.#packs) {
      if (pack.matchesBody(forms) && this.#add(matches, { rule: name, action, rate: undefined })) return matches
    }
    return matches
  }

  #matchOf({ rule: { id, action, rate } }: CompiledRule): WafMatch {
    return { rule: id, action: this.#allowed(action), rate }
  }

  /** True if the match settles the request. */
  #add(matches: WafMatch[], match: WafMatch): boolean {
    matches.push(match)
    return match.action === 'block' && match.rate === undefined
  }

  #allowed(action: 'monitor' | 'block'): 'monitor' | 'block' {
    return this.#mode === 'block' ? action : 'monitor'
  }

  /** The rules for a site, in their order. */
  #rulesFor(site: string): readonly CompiledRule[] {
    const known = this.#rulesOf.get(site)
    if (known !== undefined) return known
    const own = this.#rules.filter(({ rule }) => rule.site === undefined || rule.site === site)
    this.#rulesOf.set(site, own)
    return own
  }
}
