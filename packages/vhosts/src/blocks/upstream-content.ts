import * as cookieDirectives from '../directives/cookies.ts'
import * as gateways from '../directives/gateways.ts'
import * as proxying from '../directives/proxying.ts'
import { families, type UpstreamFamily } from '../directives/upstream-family.ts'
import type { PassTarget } from '../directives/upstreams.ts'
import type {
  CacheSpec,
  ContentSpec,
  CookieRules,
  GatewayKind,
  LocationMatch,
  PassSpec,
  ProxySpec,
  Template,
  UpstreamTarget,
  UpstreamTimeouts,
} from '../spec/spec.ts'
import { isConstant, leadingText } from '../values/template.ts'
import type { Level } from './level.ts'
import { resolverSpec } from './resolver-spec.ts'
import { upstreamTlsSpec } from './upstream-tls-spec.ts'

const MINUTE_MS = 60_000
const NO_TLS = { sendsName: false, isVerified: false } as const
const NEXT_BY_DEFAULT = ['error', 'timeout']

function timeouts(level: Level, family: UpstreamFamily): UpstreamTimeouts {
  return {
    connectMs: level.value(family.connectTimeout) ?? MINUTE_MS,
    readMs: level.value(family.readTimeout) ?? MINUTE_MS,
    sendMs: level.value(family.sendTimeout) ?? MINUTE_MS,
  }
}

function cacheSpec(level: Level, family: UpstreamFamily): CacheSpec | undefined {
  const name = level.value(family.cache)
  if (name === undefined || name === 'off') return undefined
  const useStale = level.nearest(family.cacheUseStale).flat()
  const key = level.value(family.cacheKey)
  const minUses = level.value(family.cacheMinUses) ?? 1
  const isRefreshedBehind = level.value(family.cacheBackgroundUpdate) ?? false
  return {
    zone: name,
    valid: level.nearest(family.cacheValid),
    useStale: useStale.includes('off') ? [] : useStale,
    bypass: level.nearest(family.cacheBypass).flat(),
    noCache: level.nearest(family.noCache).flat(),
    ignoredFields: level.nearest(family.ignoreHeaders).flat(),
    ...(key !== undefined && { key }),
    ...(minUses > 1 && { minUses }),
    ...(isRefreshedBehind && { isRefreshedBehind }),
  }
}

/** The words of `..._next_upstream` without `off`, which stands for none. */
function nextUpstream(level: Level, family: UpstreamFamily): readonly string[] {
  const words = level.nearest(family.nextUpstream).flat()
  if (words.length === 0) return NEXT_BY_DEFAULT
  return words.includes('off') ? [] : words
}

/** Meaning of `proxy_redirect default` beside others. */
function defaultRedirect({ scheme, host, uri }: PassTarget, match: LocationMatch): { from: Template; to: Template } {
  const url = `${scheme}://${leadingText(host)}`
  if (uri === undefined || (match.kind !== 'prefix' && match.kind !== 'exact')) return { from: [`${url}/`], to: ['/'] }
  return { from: [`${url}${leadingText(uri)}`], to: [match.path] }
}

function redirects(level: Level, target: PassTarget, match: LocationMatch): ProxySpec['redirects'] {
  const written = level.nearest(proxying.proxyRedirect)
  const hasVariables = !isConstant(target.host) || (target.uri !== undefined && !isConstant(target.uri))
  if (written.includes('off')) return []
  // nginx has no default where the address is not known in advance.
  if (written.length === 0) return hasVariables ? [] : 'default'
  if (written.includes('default') && hasVariables) {
    target.call.fail('"proxy_redirect default" cannot be used with "proxy_pass" directive with variables')
    return []
  }
  if (written.every((one) => one === 'default')) return 'default'
  return written.flatMap((one) => (one === 'off' ? [] : [one === 'default' ? defaultRedirect(target, match) : one]))
}

function checkUri({ call, host, uri }: PassTarget, match: LocationMatch, level: Level): void {
  const isPlace =
    match.kind === 'pattern' || match.kind === 'named' || level.context === 'if in location' || level.context === 'limit_except'
  if (uri !== undefined && isPlace && isConstant(uri) && isConstant(host)) {
    call.fail(
      '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, or inside "if" statement, or inside "limit_except" block',
    )
  }
}

/** The settings that all protocols have. */
function passSpec(level: Level, family: UpstreamFamily, target: UpstreamTarget): PassSpec {
  return {
    target,
    ...timeouts(level, family),
    nextUpstream: nextUpstream(level, family),
    maxTries: level.value(family.nextTries) ?? 0,
    triesMs: level.value(family.nextTimeout) ?? 0,
    hideHeaders: level.nearest(family.hideHeader),
    passHeaders: level.nearest(family.passHeader),
    ignoredFields: level.nearest(family.ignoreHeaders).flat(),
    interceptsErrors: level.value(family.interceptErrors) ?? false,
    cache: cacheSpec(level, family),
    passesFields: level.value(family.passRequestHeaders) ?? true,
    passesBody: level.value(family.passRequestBody) ?? true,
    resolver: target.kind === 'computed' ? resolverSpec(level) : undefined,
  }
}

function gatewayContent(level: Level, kind: GatewayKind, target: UpstreamTarget, { call, scheme }: PassTarget): ContentSpec {
  const isTls = scheme === 'suwsgi'
  return {
    kind,
    ...passSpec(level, families[kind], target),
    params: level.nearest(gateways.params[kind]),
    index: kind === 'fastcgi' ? level.value(gateways.fastcgiIndex) : undefined,
    splitPathInfo: kind === 'fastcgi' ? level.nearest(gateways.fastcgiSplitPathInfo).at(-1) : undefined,
    packet: {
      modifier1: level.value(gateways.uwsgiModifier1) ?? 0,
      modifier2: level.value(gateways.uwsgiModifier2) ?? 0,
      string: level.value(gateways.uwsgiString) ?? '',
    },
    isTls,
    tls: isTls || (kind === 'uwsgi' && target.kind === 'computed') ? upstreamTlsSpec(level, 'uwsgi', call) : NO_TLS,
  }
}

/** Undefined: there are no rules. An `off` switches off those of its level. */
function cookieRules(level: Level): CookieRules | undefined {
  const [domains, paths, flags] = [
    withoutOff(level.nearest(cookieDirectives.proxyCookieDomain)),
    withoutOff(level.nearest(cookieDirectives.proxyCookiePath)),
    withoutOff(level.nearest(cookieDirectives.proxyCookieFlags)),
  ]
  return domains.length + paths.length + flags.length === 0 ? undefined : { domains, paths, flags }
}

function withoutOff<Rule>(rules: readonly ('off' | Rule)[]): Rule[] {
  return rules.includes('off') ? [] : rules.flatMap((rule) => (rule === 'off' ? [] : [rule]))
}

/** Resolves `proxy_pass`, `fastcgi_pass` or their like of a location, with all that it inherits. */
export function upstreamContent(level: Level, pass: PassTarget, target: UpstreamTarget, match: LocationMatch): ContentSpec {
  const { scheme } = pass
  if (scheme === 'suwsgi') return gatewayContent(level, 'uwsgi', target, pass)
  if (scheme === 'fastcgi' || scheme === 'uwsgi' || scheme === 'scgi') return gatewayContent(level, scheme, target, pass)
  checkUri(pass, match, level)
  const [method, body] = [level.value(proxying.proxyMethod), level.value(proxying.proxySetBody)]
  const cookies = cookieRules(level)
  return {
    kind: 'proxy',
    scheme,
    ...passSpec(level, families.proxy, target),
    uri: pass.uri,
    setHeaders: level.nearest(proxying.proxySetHeader),
    ...(method !== undefined && { method }),
    ...(body !== undefined && { body }),
    ...(cookies !== undefined && { cookies }),
    httpVersion: level.value(proxying.proxyHttpVersion) ?? '1.1',
    isBuffered: level.value(proxying.proxyBuffering) ?? true,
    tls: scheme === 'http' ? NO_TLS : upstreamTlsSpec(level, 'proxy', pass.call),
    redirects: redirects(level, pass, match),
  }
}
