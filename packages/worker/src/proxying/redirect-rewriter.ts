import type { PatternSpec, ProxySpec, Template } from '@svc/vhosts'
import type { LocationExchange } from '../vhost/location-handler.ts'

/** Changes the target of a redirect; undefined: it does not apply to this one. */
type Rule = (exchange: LocationExchange, target: string) => string | undefined

/** Rewrites Location and Refresh of an upstream's answers, as `proxy_redirect` does. The first rule that applies counts. */
export class RedirectRewriter {
  readonly #rules: readonly Rule[]

  constructor(spec: Pick<ProxySpec, 'redirects' | 'scheme' | 'target' | 'uri'>) {
    this.#rules = spec.redirects === 'default' ? defaultRules(spec) : spec.redirects.map(({ from, to }) => ruleOf(from, to))
  }

  /** New value of a Location field. A target of this server is written out in full. */
  location(exchange: LocationExchange, value: string): string {
    const rewritten = this.#apply(exchange, value)
    if (rewritten?.startsWith('/') !== true) return rewritten ?? value
    return exchange.redirectTarget(rewritten)
  }

  /** New value of a Refresh field, of which only the part behind "url=" is a target. */
  refresh(exchange: LocationExchange, value: string): string {
    const at = value.toLowerCase().indexOf('url=')
    if (at === -1) return value
    return value.slice(0, at + 4) + (this.#apply(exchange, value.slice(at + 4)) ?? value.slice(at + 4))
  }

  #apply(exchange: LocationExchange, target: string): string | undefined {
    for (const rule of this.#rules) {
      const rewritten = rule(exchange, target)
      if (rewritten !== undefined) return rewritten
    }
    return undefined
  }
}

/** From the address of the upstream to where this location is. With variables in the address there is none. */
function defaultRules({ scheme, target, uri }: Pick<ProxySpec, 'scheme' | 'target' | 'uri'>): readonly Rule[] {
  if (target.kind === 'computed' || uri?.some((piece) => typeof piece !== 'string') === true) return []
  const part = uri?.join('') ?? ''
  const from = `${scheme}://${target.host}${part === '' ? '/' : part}`
  return [(exchange, value) => replacePrefix(value, from, part === '' ? '/' : exchange.matchedPrefix)]
}

function ruleOf(from: Template | PatternSpec, to: Template): Rule {
  if ('source' in from) {
    const pattern = new RegExp(from.source, from.flags)
    return (exchange, value) => {
      const match = pattern.exec(value)
      return match === null ? undefined : filledIn(exchange, to, match)
    }
  }
  return (exchange, value) => replacePrefix(value, exchange.text(from), exchange.text(to))
}

function replacePrefix(value: string, from: string, to: string): string | undefined {
  return value.startsWith(from) ? to + value.slice(from.length) : undefined
}

/** The template with the captures of its own pattern. */
export function filledIn(exchange: LocationExchange, to: Template, match: RegExpExecArray): string {
  return to
    .map((piece) => {
      if (typeof piece === 'string') return piece
      const named = match.groups?.[piece.variable]
      if (named !== undefined) return named
      return /^\d$/.test(piece.variable) ? (match[Number(piece.variable)] ?? '') : exchange.text([piece])
    })
    .join('')
}
