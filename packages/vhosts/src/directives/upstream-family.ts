import type { GatewayKind } from '../spec/spec.ts'
import { parseCount } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

const FAILURES = ['error', 'timeout', 'invalid_header']
const PROXY_STATUSES = ['http_500', 'http_502', 'http_503', 'http_504', 'http_403', 'http_404', 'http_429']
const GATEWAY_STATUSES = ['http_500', 'http_503', 'http_403', 'http_404', 'http_429']
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

/** GET and HEAD, which are cached in any case. */
function cachedMethod(call: DirectiveCall, index: number): string | undefined {
  const method = call.oneOf(index, ['GET', 'HEAD', 'POST'])
  return method === 'POST'
    ? call.fail('responses to POST are not cached', index, 'the upstream gets each of these requests')
    : method
}

/** How the directives of a protocol begin. */
type FamilyName = 'proxy' | GatewayKind

/** The directives that all protocols have under their own names. */
function family(prefix: FamilyName) {
  const statuses = prefix === 'proxy' ? PROXY_STATUSES : GATEWAY_STATUSES
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
    nextTries: rule(`${prefix}_next_upstream_tries`, {
      args: 1,
      parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0),
    }),
    nextTimeout: rule(`${prefix}_next_upstream_timeout`, time),
    hideHeader: rule(`${prefix}_hide_header`, { args: 1, isMany: true, parse: (call) => call.fieldName(0)?.toLowerCase() }),
    passHeader: rule(`${prefix}_pass_header`, { args: 1, isMany: true, parse: passedField }),
    ignoreHeaders: rule(`${prefix}_ignore_headers`, { ...list, parse: (call) => call.every((at) => ignoredField(call, at)) }),
    passRequestHeaders: rule(`${prefix}_pass_request_headers`, { args: 1, parse: (call) => call.flag(0) }),
    passRequestBody: rule(`${prefix}_pass_request_body`, { args: 1, parse: (call) => call.flag(0) }),
    interceptErrors: rule(`${prefix}_intercept_errors`, { args: 1, parse: (call) => call.flag(0) }),
    cache: rule<string>(`${prefix}_cache`, { args: 1, parse: (call) => call.arg(0) || call.invalidValue(0) }),
    cacheValid: rule(`${prefix}_cache_valid`, { ...list, parse: validFor }),
    cacheUseStale: rule(`${prefix}_cache_use_stale`, words([...FAILURES, 'updating', ...statuses, 'off'])),
    cacheBypass: rule(`${prefix}_cache_bypass`, templates),
    cacheKey: rule(`${prefix}_cache_key`, { args: 1, parse: (call) => call.template(0) }),
    cacheMethods: rule(`${prefix}_cache_methods`, { ...list, parse: (call) => call.every((at) => cachedMethod(call, at)) }),
    cacheMinUses: rule(`${prefix}_cache_min_uses`, { args: 1, parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0) }),
    cacheBackgroundUpdate: rule(`${prefix}_cache_background_update`, { args: 1, parse: (call) => call.flag(0) }),
    noCache: rule(`${prefix}_no_cache`, templates),
  }
}

/** By the beginning of their names. */
export const families = {
  proxy: family('proxy'),
  fastcgi: family('fastcgi'),
  uwsgi: family('uwsgi'),
  scgi: family('scgi'),
} satisfies Record<FamilyName, UpstreamFamily>
export type UpstreamFamily = ReturnType<typeof family>
