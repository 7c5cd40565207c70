import type { PatternSpec, Template } from '../spec/spec.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

const FAILURES = ['error', 'timeout', 'invalid_header']
const PROXY_STATUSES = ['http_500', 'http_502', 'http_503', 'http_504', 'http_403', 'http_404', 'http_429']
const FASTCGI_STATUSES = ['http_500', 'http_503', 'http_403', 'http_404', 'http_429']
const SECOND_MS = 1000
const [LOWEST_STATUS, HIGHEST_STATUS] = [100, 599]
/** Statuses that `proxy_cache_valid` with a time alone applies to. */
const USUAL_STATUSES = [200, 301, 302]

function validFor(call: DirectiveCall): { statuses: readonly number[] | 'any'; seconds: number } | undefined {
  const last = call.args.length - 1
  const time = call.time(last)
  const statuses = call.every((index, text) => {
    const status = /^\d{3}$/.test(text) ? Number(text) : 0
    return text === 'any' || (status >= LOWEST_STATUS && status <= HIGHEST_STATUS) ? status : call.invalidValue(index)
  }, last)
  if (time === undefined || statuses === undefined) return undefined
  const isAny = call.args.slice(0, last).includes('any')
  return { statuses: isAny ? 'any' : last === 0 ? USUAL_STATUSES : statuses, seconds: Math.floor(time / SECOND_MS) }
}

/** A field of the upstream that clients see though it is hidden by default. */
function passedField(call: DirectiveCall): string | undefined {
  const name = call.fieldName(0)?.toLowerCase()
  return name === 'date' ? call.fail('Date of an upstream cannot be passed on', 0, 'the server sends its own') : name
}

const IGNORED = [
  ...(['X-Accel-Redirect', 'X-Accel-Expires', 'X-Accel-Limit-Rate', 'X-Accel-Buffering', 'X-Accel-Charset'] as const),
  ...(['Expires', 'Cache-Control', 'Set-Cookie', 'Vary'] as const),
]

/** A field of the upstream that the server itself takes no notice of, in lower case. */
function ignoredField(call: DirectiveCall, index: number): string | undefined {
  const wanted = call.arg(index).toLowerCase()
  const known = IGNORED.find((name) => name.toLowerCase() === wanted)
  return known?.toLowerCase() ?? call.invalidValue(index, `expected some of ${IGNORED.join(', ')}`)
}

/** The directives that `proxy_` and `fastcgi_` share. */
function family(prefix: 'proxy' | 'fastcgi') {
  const statuses = prefix === 'proxy' ? PROXY_STATUSES : FASTCGI_STATUSES
  const time = { args: 1, parse: (call: DirectiveCall) => call.time(0) } as const
  const list = { args: [1, MANY], isMany: true } as const
  const words = (known: readonly string[]) => ({
    ...list,
    parse: (call: DirectiveCall) => call.every((at) => call.oneOf(at, known)),
  })
  const templates = { ...list, parse: (call: DirectiveCall) => call.every((at) => call.template(at)) }
  return {
    connectTimeout: rule(`${prefix}_connect_timeout`, time),
    readTimeout: rule(`${prefix}_read_timeout`, time),
    sendTimeout: rule(`${prefix}_send_timeout`, time),
    nextUpstream: rule(`${prefix}_next_upstream`, words([...FAILURES, ...statuses, 'non_idempotent', 'off'])),
    hideHeader: rule(`${prefix}_hide_header`, { args: 1, isMany: true, parse: (call) => call.fieldName(0)?.toLowerCase() }),
    passHeader: rule(`${prefix}_pass_header`, { args: 1, isMany: true, parse: passedField }),
    ignoreHeaders: rule(`${prefix}_ignore_headers`, { ...list, parse: (call) => call.every((at) => ignoredField(call, at)) }),
    interceptErrors: rule(`${prefix}_intercept_errors`, { args: 1, parse: (call) => call.flag(0) }),
    cache: rule<string>(`${prefix}_cache`, { args: 1, parse: (call) => call.arg(0) || call.invalidValue(0) }),
    cacheValid: rule(`${prefix}_cache_valid`, { ...list, parse: validFor }),
    cacheUseStale: rule(`${prefix}_cache_use_stale`, words([...FAILURES, 'updating', ...statuses, 'off'])),
    cacheBypass: rule(`${prefix}_cache_bypass`, templates),
    noCache: rule(`${prefix}_no_cache`, templates),
  }
}

/** Directives that both kinds of upstream know under their own names. */
export const proxyFamily = family('proxy')
export const fastcgiFamily = family('fastcgi')
export type UpstreamFamily = typeof proxyFamily

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

/** `fastcgi_param`. */
export const fastcgiParam = rule('fastcgi_param', {
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
  parse: (call) => {
    const found = call.pattern(0, false)
    if (found !== undefined && found.captures !== 2) return call.fail(`pattern "${call.text(0)}" must have 2 captures`, 0)
    return found?.pattern
  },
})
