import * as guarding from '../directives/guarding.ts'
import { serverName } from '../directives/serving.ts'
import type { AuthRequestSpec, GuardSpec, RefererSpec, SecureLinkSpec } from '../spec/guard.ts'
import type { PatternSpec } from '../spec/template.ts'
import type { Level } from './level.ts'
import { connectionLimits, rateOf, requestLimits } from './limits.ts'

function authRequest(level: Level): AuthRequestSpec | undefined {
  const uri = level.value(guarding.authRequest)
  if (uri === undefined || uri === 'off') return undefined
  return { uri, sets: level.nearest(guarding.authRequestSet) }
}

/** Those of the nearest level that has some, whatever other referers are between. */
function patternsOf(level: Level): readonly PatternSpec[] {
  for (let one: Level | undefined = level.holder(guarding.validReferers); one !== undefined; ) {
    const own = one.own(guarding.validReferers).flat()
    const patterns = own.flatMap((referer) => (referer.kind === 'pattern' ? [referer.pattern] : []))
    if (patterns.length > 0) return patterns
    one = one.outer?.holder(guarding.validReferers)
  }
  return []
}

function referers(level: Level): RefererSpec | undefined {
  const own = level.nearest(guarding.validReferers).flat()
  if (own.length === 0) return undefined
  const names = own.some(({ kind }) => kind === 'server_names') ? level.nearest(serverName).flat() : []
  const written = own.flatMap((one) => (one.kind === 'host' ? [{ name: one.name, path: one.path }] : []))
  const ofServer = names.flatMap(({ spec }) => (spec.kind === 'name' ? [{ name: spec.name, path: '' }] : []))
  const hosts = [...written, ...ofServer]
  const bare = own.find(({ kind }) => kind === 'none' || kind === 'blocked')
  if (bare !== undefined && 'call' in bare && hosts.length === 0 && !own.some(({ kind }) => kind === 'server_names')) {
    bare.call.fail('the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer')
  }
  return {
    acceptsNone: own.some(({ kind }) => kind === 'none'),
    acceptsBlocked: own.some(({ kind }) => kind === 'blocked'),
    hosts,
    hostPatterns: names.flatMap(({ spec }) => (spec.kind === 'pattern' ? [spec.pattern] : [])),
    patterns: patternsOf(level),
  }
}

function secureLink(level: Level): SecureLinkSpec | undefined {
  const [own] = level.own(guarding.secureLinkSecret)
  const hasOther = level.own(guarding.secureLink).length + level.own(guarding.secureLinkMd5).length > 0
  if (own !== undefined && hasOther) {
    own.call.fail('"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"')
  }
  if (own !== undefined) return { kind: 'secret', secret: own.secret }
  const link = level.value(guarding.secureLink)
  const text = level.value(guarding.secureLinkMd5)
  if (link !== undefined && text !== undefined) return { kind: 'md5', link, text }
  const secret = link === undefined && text === undefined ? level.value(guarding.secureLinkSecret) : undefined
  return secret && { kind: 'secret', secret: secret.secret }
}

/** The protection of a level. */
export function guardOf(level: Level): GuardSpec {
  return {
    authRequest: authRequest(level),
    rate: rateOf(level),
    authDelayMs: level.value(guarding.authDelay) ?? 0,
    requestLimits: requestLimits(level),
    connectionLimits: connectionLimits(level),
    referers: referers(level),
    secureLink: secureLink(level),
  }
}
