import type { GatewayKind, Template } from '../spec/spec.ts'
import { parseCount } from '../values/numbers.ts'
import { isConstant, leadingText } from '../values/template.ts'
import { noticeOpen } from './open-target.ts'
import { rule } from './rule.ts'
import type { PassTarget } from './upstreams.ts'

/** `fastcgi_param` and its like. */
const param = (kind: GatewayKind) =>
  rule(`${kind}_param`, {
    args: [2, 3],
    isMany: true,
    parse: (call) => {
      const value = call.template(1)
      const isIfNotEmpty = call.args.length > 2
      if (isIfNotEmpty && call.arg(2) !== 'if_not_empty') return call.invalidParameter(2)
      return value === undefined ? undefined : { name: call.arg(0), value, isIfNotEmpty }
    },
  })

/** `fastcgi_index`. */
export const fastcgiIndex = rule<Template>('fastcgi_index', { args: 1, parse: (call) => [call.arg(0)] })

/** `fastcgi_split_path_info`. */
export const fastcgiSplitPathInfo = rule('fastcgi_split_path_info', {
  args: 1,
  // As in nginx, the last one counts.
  isMany: true,
  parse: (call) => {
    const found = call.pattern(0, false)
    if (found !== undefined && found.captures !== 2) return call.fail(`pattern "${call.text(0)}" must have 2 captures`, 0)
    return found?.pattern
  },
})

/** Parameters of requests, by the protocol. */
export const params = { fastcgi: param('fastcgi'), uwsgi: param('uwsgi'), scgi: param('scgi') } as const

const MAX_MODIFIER = 255
const modifier = (name: string) =>
  rule(name, {
    args: 1,
    parse: (call) => {
      const value = parseCount(call.arg(0)) ?? MAX_MODIFIER + 1
      return value > MAX_MODIFIER ? call.invalidValue(0, 'expected a number from 0 to 255') : value
    },
  })

/** `uwsgi_modifier1`. */
export const uwsgiModifier1 = modifier('uwsgi_modifier1')

/** `uwsgi_modifier2`. */
export const uwsgiModifier2 = modifier('uwsgi_modifier2')

/** `uwsgi_string`. */
export const uwsgiString = rule('uwsgi_string', { args: 1, parse: (call) => call.arg(0) })

const pass = (kind: GatewayKind) =>
  rule<PassTarget>(`${kind}_pass`, {
    in: ['location'],
    args: 1,
    slot: 'content',
    parse: (call) => {
      const written = call.template(0)
      if (written === undefined) return undefined
      const [prefix = '', s] = (kind === 'uwsgi' && /^(s?)uwsgi:\/\//i.exec(leadingText(written))) || []
      const host = withoutStart(written, prefix.length)
      if (host.length === 0) return call.fail(`no host in upstream "${call.text(0)}"`, 0)
      if (isConstant(host) && /^https?:\/\//.test(leadingText(host)))
        return call.fail('invalid URL prefix', 0, `${kind}_pass takes an address without scheme`)
      noticeOpen(call, host)
      return { call, scheme: s === '' || s === undefined ? kind : 'suwsgi', host, uri: undefined, defaultPort: 0 }
    },
  })

function withoutStart(template: Template, length: number): Template {
  const [first, ...rest] = template
  if (length === 0 || typeof first !== 'string') return template
  return first.length === length ? rest : [first.slice(length), ...rest]
}

/** `fastcgi_pass`. */
export const fastcgiPass = pass('fastcgi')

/** `uwsgi_pass`. */
export const uwsgiPass = pass('uwsgi')

/** `scgi_pass`. */
export const scgiPass = pass('scgi')
