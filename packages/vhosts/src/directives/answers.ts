import { isCidr } from '@svc/http'
import type { AccessRule, AddHeaderSpec, ExpiresSpec, Template } from '../spec/spec.ts'
import { readExpires } from '../values/expires.ts'
import { parseSize } from '../values/numbers.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

/** `add_header`. */
export const addHeader = rule<AddHeaderSpec>('add_header', {
  args: [2, 3],
  isMany: true,
  parse: (call) => {
    const name = call.fieldName(0)
    const value = call.template(1)
    const isAlways = call.args.length > 2
    if (isAlways && call.arg(2) !== 'always') return call.invalidParameter(2)
    return name === undefined || value === undefined ? undefined : { name, value, isAlways }
  },
})

function parseExpires(call: DirectiveCall): ExpiresSpec | undefined {
  const isFromModified = call.arg(0) === 'modified'
  if (call.args.length > 1 && !isFromModified) return call.invalidValue(0)
  const at = call.args.length - 1
  if (call.arg(at).includes('$')) {
    const value = call.template(at)
    return value === undefined ? undefined : { kind: 'computed', value, isFromModified }
  }
  const read = readExpires(call.arg(at), isFromModified)
  if (read === 'too late') return call.fail('daily time value must be less than 24 hours', at)
  return read ?? call.invalidValue(at)
}

/** `expires`. */
export const expires = rule('expires', { args: [1, 2], parse: parseExpires })

function accessRule(isAllowed: boolean): (call: DirectiveCall) => AccessRule | undefined {
  return (call) => {
    const source = call.arg(0)
    if (source === 'all' || source === 'unix:') return { isAllowed, source }
    return isCidr(source)
      ? { isAllowed, source: source.toLowerCase() }
      : call.invalidParameter(0, 'expected an address, a CIDR, "unix:" or "all"')
  }
}

/** `allow`. */
export const allow = rule('allow', { args: 1, slot: 'access', isMany: true, parse: accessRule(true) })

/** `deny`. */
export const deny = rule('deny', { args: 1, slot: 'access', isMany: true, parse: accessRule(false) })

/** `absolute_redirect`. */
export const absoluteRedirect = rule('absolute_redirect', { args: 1, parse: (call) => call.flag(0) })

/** `port_in_redirect`. */
export const portInRedirect = rule('port_in_redirect', { args: 1, parse: (call) => call.flag(0) })

/** `server_name_in_redirect`. */
export const serverNameInRedirect = rule('server_name_in_redirect', { args: 1, parse: (call) => call.flag(0) })

/** `charset`: its name, or off. */
export const charset = rule<Template | 'off'>('charset', {
  args: 1,
  parse: (call) => (call.arg(0) === 'off' ? 'off' : call.template(0)),
})

/** `charset_types`. */
export const charsetTypes = rule('charset_types', {
  args: [1, MANY],
  parse: (call) => call.args.map((type) => type.toLowerCase()),
})

/** `satisfy`. */
export const satisfy = rule('satisfy', { args: 1, parse: (call) => call.oneOf(0, ['all', 'any'] as const) })

/** `auth_basic`: the realm, or off. */
export const authBasic = rule<Template | 'off'>('auth_basic', {
  args: 1,
  parse: (call) => (call.arg(0) === 'off' ? 'off' : call.template(0)),
})

/** `auth_basic_user_file`. */
export const authBasicUserFile = rule('auth_basic_user_file', {
  args: 1,
  parse: (call) => {
    const file = call.pathTemplate(0)
    call.tools.needs.addTemplate('passwords', file, call.place)
    return file
  },
})

/** `client_max_body_size`. */
export const clientMaxBodySize = rule('client_max_body_size', {
  args: 1,
  parse: (call) => parseSize(call.arg(0)) ?? call.invalidValue(0, 'expected a size such as 512k, 10m or 1g'),
})

/** `merge_slashes`. */
export const mergeSlashes = rule('merge_slashes', { in: ['main', 'server'], args: 1, parse: (call) => call.flag(0) })

/** `underscores_in_headers`. */
export const underscoresInHeaders = rule('underscores_in_headers', {
  in: ['main', 'server'],
  args: 1,
  parse: (call) => call.flag(0),
})

/** `ignore_invalid_headers`. */
export const ignoreInvalidHeaders = rule('ignore_invalid_headers', {
  in: ['main', 'server'],
  args: 1,
  parse: (call) => call.flag(0),
})

/** `client_body_timeout`, in milliseconds. */
export const clientBodyTimeout = rule('client_body_timeout', { args: 1, parse: (call) => call.time(0) })

/** `send_timeout`, in milliseconds. */
export const sendTimeout = rule('send_timeout', { args: 1, parse: (call) => call.time(0) })

/** `svc_cache_status`: if responses have the field Cache-Status. */
export const svcCacheStatus = rule('svc_cache_status', { args: 1, parse: (call) => call.flag(0) })

/** `internal`. */
export const internal = rule<true>('internal', { in: ['location'], args: 0, parse: () => true })
