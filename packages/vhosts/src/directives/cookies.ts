import type { CookieFlagsRule, PatternSpec, Template, TextChange } from '../spec/spec.ts'
import type { DirectiveCall } from './directive-call.ts'
import { rule } from './rule.ts'

/** nginx takes no leading dot for a part of a domain. */
function withoutDot(template: Template): Template {
  const [first, ...rest] = template
  return typeof first === 'string' && first.startsWith('.') ? [first.slice(1), ...rest] : template
}

/** The first argument: a text with variables, or a pattern. `isCaseless`: also behind a single `~`. */
function fromOf(call: DirectiveCall, isCaseless: boolean): Template | PatternSpec | undefined {
  const word = call.arg(0)
  if (word.startsWith('~*')) return call.pattern(0, true, word.slice(2))?.pattern
  return word.startsWith('~') ? call.pattern(0, isCaseless, word.slice(1))?.pattern : call.template(0)
}

function change(name: 'proxy_cookie_domain' | 'proxy_cookie_path') {
  const isDomain = name === 'proxy_cookie_domain'
  return rule<'off' | TextChange>(name, {
    args: [1, 2],
    isMany: true,
    parse: (call) => {
      if (call.args.length === 1)
        return call.arg(0) === 'off' ? 'off' : call.invalidParameter(0, 'expected off, or two arguments')
      const [from, to] = [fromOf(call, isDomain), call.template(1)]
      if (from === undefined || to === undefined) return undefined
      return isDomain ? { from: 'source' in from ? from : withoutDot(from), to: withoutDot(to) } : { from, to }
    },
  })
}

/** `proxy_cookie_domain`. */
export const proxyCookieDomain = change('proxy_cookie_domain')

/** `proxy_cookie_path`. */
export const proxyCookiePath = change('proxy_cookie_path')

const FLAGS = ['secure', 'nosecure', 'httponly', 'nohttponly', 'samesite=strict', 'samesite=lax', 'samesite=none', 'nosamesite']

function flagOf(call: DirectiveCall, index: number): Template | undefined {
  const template = call.template(index)
  const isKnown = call.arg(index).includes('$') || FLAGS.includes(call.arg(index).toLowerCase())
  return isKnown ? template : call.invalidValue(index, `expected some of ${FLAGS.join(', ')}`)
}

/** `proxy_cookie_flags`. */
export const proxyCookieFlags = rule<'off' | CookieFlagsRule>('proxy_cookie_flags', {
  args: [1, 4],
  isMany: true,
  parse: (call) => {
    if (call.args.length === 1) return call.arg(0) === 'off' ? 'off' : call.invalidParameter(0, 'expected off, or flags')
    const cookie = fromOf(call, true)
    const flags = call.args.slice(1).map((_flag, place) => flagOf(call, place + 1))
    const known = flags.filter((flag) => flag !== undefined)
    return cookie === undefined || known.length < flags.length ? undefined : { cookie, flags: known }
  },
})
