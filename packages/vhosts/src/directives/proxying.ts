import type { PatternSpec, Template } from '../spec/spec.ts'
import { fieldName } from './answers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

const NEXT_UPSTREAM = [
  'error',
  'timeout',
  'invalid_header',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'non_idempotent',
  'off',
]
const FASTCGI_NEXT = NEXT_UPSTREAM.filter((word) => word !== 'http_502' && word !== 'http_504')
const USE_STALE = [
  'error',
  'timeout',
  'invalid_header',
  'updating',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'off',
]
const FASTCGI_USE_STALE = USE_STALE.filter((word) => word !== 'http_502' && word !== 'http_504')
const SECOND_MS = 1000
const [LOWEST_STATUS, HIGHEST_STATUS] = [100, 599]
/** Statuses that `proxy_cache_valid` with a time alone applies to. */
const USUAL_STATUSES = [200, 301, 302]

function wordsOf(call: DirectiveCall, known: readonly string[]): readonly string[] | undefined {
  const words = call.args.map((_, index) => call.oneOf(index, known))
  return words.every((word) => word !== undefined) ? words : undefined
}

function validFor(call: DirectiveCall): { statuses: readonly number[] | 'any'; seconds: number } | undefined {
  const last = call.args.length - 1
  const time = call.time(last)
  let isRight = true
  const statuses = call.args.slice(0, last).map((text, index) => {
    const status = /^\d{3}$/.test(text) ? Number(text) : 0
    if (text !== 'any' && (status < LOWEST_STATUS || status > HIGHEST_STATUS)) {
      call.invalidValue(index)
      isRight = false
    }
    return status
  })
  if (time === undefined || !isRight) return undefined
  const isAny = call.args.slice(0, last).includes('any')
  return { statuses: isAny ? 'any' : last === 0 ? USUAL_STATUSES : statuses, seconds: Math.floor(time / SECOND_MS) }
}

function templatesOf(call: DirectiveCall): readonly Template[] | undefined {
  const templates = call.args.map((_, index) => call.template(index))
  const known = templates.filter((template) => template !== undefined)
  return known.length === templates.length ? known : undefined
}

/** The directives that `proxy_` and `fastcgi_` share. */
function family(prefix: 'proxy' | 'fastcgi') {
  const isProxy = prefix === 'proxy'
  return {
    connectTimeout: rule(`${prefix}_connect_timeout`, { args: 1, parse: (call) => call.time(0) }),
    readTimeout: rule(`${prefix}_read_timeout`, { args: 1, parse: (call) => call.time(0) }),
    sendTimeout: rule(`${prefix}_send_timeout`, { args: 1, parse: (call) => call.time(0) }),
    nextUpstream: rule(`${prefix}_next_upstream`, {
      args: [1, MANY],
      isMany: true,
      parse: (call) => wordsOf(call, isProxy ? NEXT_UPSTREAM : FASTCGI_NEXT),
    }),
    hideHeader: rule(`${prefix}_hide_header`, { args: 1, isMany: true, parse: (call) => fieldName(call, 0)?.toLowerCase() }),
    cache: rule<string>(`${prefix}_cache`, { args: 1, parse: (call) => call.arg(0) || call.invalidValue(0) }),
    cacheValid: rule(`${prefix}_cache_valid`, { args: [1, MANY], isMany: true, parse: validFor }),
    cacheUseStale: rule(`${prefix}_cache_use_stale`, {
      args: [1, MANY],
      isMany: true,
      parse: (call) => wordsOf(call, isProxy ? USE_STALE : FASTCGI_USE_STALE),
    }),
    cacheBypass: rule(`${prefix}_cache_bypass`, { args: [1, MANY], isMany: true, parse: templatesOf }),
    noCache: rule(`${prefix}_no_cache`, { args: [1, MANY], isMany: true, parse: templatesOf }),
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
    const name = fieldName(call, 0)
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
