import type { PatternSpec, Template } from '../spec/spec.ts'
import { rule } from './rule.ts'

/** `proxy_set_header`. */
export const proxySetHeader = rule('proxy_set_header', {
  args: 2,
  isMany: true,
  parse: (call) => {
    const name = call.fieldName(0)
    const value = call.template(1)
    return name === undefined || value === undefined ? undefined : { name, value }
  },
})

/** `proxy_http_version`. */
export const proxyHttpVersion = rule('proxy_http_version', { args: 1, parse: (call) => call.oneOf(0, ['1.0', '1.1'] as const) })

/** `proxy_method`. */
export const proxyMethod = rule('proxy_method', { args: 1, parse: (call) => call.template(0) })

/** `proxy_set_body`. */
export const proxySetBody = rule('proxy_set_body', { args: 1, parse: (call) => call.template(0) })

/** `proxy_buffering`. */
export const proxyBuffering = rule('proxy_buffering', { args: 1, parse: (call) => call.flag(0) })

/** One `proxy_redirect`. */
export type ProxyRedirect = 'default' | 'off' | { readonly from: Template | PatternSpec; readonly to: Template }

/** `proxy_redirect`. */
export const proxyRedirect = rule<ProxyRedirect>('proxy_redirect', {
  args: [1, 2],
  isMany: true,
  parse: (call) => {
    const word = call.arg(0)
    if (call.args.length === 1)
      return word === 'default' || word === 'off' ? word : call.invalidParameter(0, 'expected default, off, or two arguments')
    const to = call.template(1)
    const from = word.startsWith('~*')
      ? call.pattern(0, true, word.slice(2))?.pattern
      : word.startsWith('~')
        ? call.pattern(0, false, word.slice(1))?.pattern
        : call.template(0)
    return from === undefined || to === undefined ? undefined : { from, to }
  },
})
