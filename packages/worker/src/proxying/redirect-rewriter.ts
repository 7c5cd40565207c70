import type { PatternSpec, ProxySpec, Template } from '@svc/vhosts'
import type { LocationVisit } from '../vhost/content.ts'
import { absoluteLocation } from '../vhost/listen-port.ts'

/** Changes the target of a redirect; undefined: it does not apply to this one. */
type Rule = (visit: LocationVisit, target: string) => string | undefined

/** Rewrites Location and Refresh of an upstream's answers, as `proxy_redirect` does. The first rule that applies counts. */
export class RedirectRewriter {
  readonly #rules: readonly Rule[]

  constructor(spec: Pick<ProxySpec, 'redirects' | 'scheme' | 'target' | 'uri'>) {
    this.#rules = spec.redirects === 'default' ? defaultRules(spec) : spec.redirects.map(({ from, to }) => ruleOf(from, to))
  }

  /** New value of a Location field. A target of this server is written out in full. */
  location(visit: LocationVisit, value: string): string {
    const rewritten = this.#apply(visit, value)
    if (rewritten?.startsWith('/') !== true) return rewritten ?? value
    return absoluteLocation(visit.context, rewritten, visit.text([{ variable: 'server_name' }]))
  }

  /** New value of a Refresh field, of which only the part behind "url=" is a target. */
  refresh(visit: LocationVisit, value: string): string {
    const at = value.toLowerCase().indexOf('url=')
    if (at === -1) return value
    return value.slice(0, at + 4) + (this.#apply(visit, value.slice(at + 4)) ?? value.slice(at + 4))
  }

  #apply(visit: LocationVisit, target: string): string | undefined {
    for (const rule of this.#rules) {
      const rewritten = rule(visit, target)
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
  return [(visit, value) => replacePrefix(value, from, part === '' ? '/' : visit.matchedPrefix)]
}

function ruleOf(from: Template | PatternSpec, to: Template): Rule {
  if ('source' in from) {
    const pattern = new RegExp(from.source, from.flags)
    return (visit, value) => {
      const match = pattern.exec(value)
      return match === null ? undefined : filledIn(visit, to, match)
    }
  }
  return (visit, value) => replacePrefix(value, visit.text(from), visit.text(to))
}

function replacePrefix(value: string, from: string, to: string): string | undefined {
  return value.startsWith(from) ? to + value.slice(from.length) : undefined
}

/** The template with the captures of its own pattern. */
function filledIn(visit: LocationVisit, to: Template, match: RegExpExecArray): string {
  return to
    .map((piece) => {
      if (typeof piece === 'string') return piece
      const named = match.groups?.[piece.variable]
      if (named !== undefined) return named
      return /^\d$/.test(piece.variable) ? (match[Number(piece.variable)] ?? '') : visit.text([piece])
    })
    .join('')
}
