import type { GzipProxied, PatternSpec } from '../spec/spec.ts'
import { parseSize } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

/** `gzip`. */
export const gzip = rule('gzip', { args: 1, parse: (call) => call.flag(0) })

/** `gzip_types`, in lower case. */
export const gzipTypes = rule('gzip_types', { args: [1, MANY], parse: (call) => call.args.map((type) => type.toLowerCase()) })

/** `gzip_min_length`, bytes. */
export const gzipMinLength = rule('gzip_min_length', {
  args: 1,
  parse: (call) => parseSize(call.arg(0)) ?? call.invalidValue(0, 'expected a size such as 1000 or 1k'),
})

/** `gzip_vary`. */
export const gzipVary = rule('gzip_vary', { args: 1, parse: (call) => call.flag(0) })

/** `gzip_http_version`. */
export const gzipHttpVersion = rule('gzip_http_version', { args: 1, parse: (call) => call.oneOf(0, ['1.0', '1.1'] as const) })

const PROXIED: readonly GzipProxied[] = [
  ...(['off', 'expired', 'no-cache', 'no-store', 'private', 'no_last_modified', 'no_etag', 'auth', 'any'] as const),
]

function proxiedConditions(call: DirectiveCall): readonly GzipProxied[] | undefined {
  const conditions = call.args.map((_text, index) => call.oneOf(index, PROXIED))
  return conditions.every((condition) => condition !== undefined) ? conditions : undefined
}

/** `gzip_proxied`. */
export const gzipProxied = rule('gzip_proxied', { args: [1, MANY], isMany: true, parse: proxiedConditions })

/** `msie6` stands for a pattern of its own, and `degradation` for a shortage of memory, which does not occur here. */
function disabledAgents(call: DirectiveCall): readonly ('msie6' | PatternSpec)[] | undefined {
  const agents = call.args.flatMap((text, index) => {
    if (text === 'degradation') return []
    return text === 'msie6' ? text : (call.pattern(index, true)?.pattern ?? [undefined])
  })
  return agents.every((agent) => agent !== undefined) ? agents : undefined
}

/** `gzip_disable`. */
export const gzipDisable = rule('gzip_disable', { args: [1, MANY], isMany: true, parse: disabledAgents })
