import type { AuthRequestSpec } from '../spec/guard.ts'
import type { PatternSpec } from '../spec/template.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'
import { settableVariable } from './settable-variable.ts'

/** `auth_request`: the path of the request that decides, or off. */
export const authRequest = rule<string>('auth_request', { args: 1, parse: (call) => call.arg(0) })

/** `auth_delay`: milliseconds. */
export const authDelay = rule('auth_delay', { args: 1, parse: (call) => call.time(0) })

/** `auth_request_set`. */
export const authRequestSet = rule<AuthRequestSpec['sets'][number]>('auth_request_set', {
  args: 2,
  isMany: true,
  parse: (call) => {
    const variable = settableVariable(call)
    const value = call.template(1)
    return variable === undefined || value === undefined ? undefined : { variable, value }
  },
})

/** One argument of `valid_referers`. */
type Referer =
  | { readonly kind: 'none' | 'blocked' | 'server_names'; readonly call: DirectiveCall }
  | { readonly kind: 'host'; readonly name: string; readonly path: string }
  | { readonly kind: 'pattern'; readonly pattern: PatternSpec }

const HOST = /^(?:\*\.|\.)?[^*/]*$|^[^*/]+\.\*$/

function parseReferer(call: DirectiveCall, index: number, text: string): Referer | undefined {
  if (text === '') return call.fail(`invalid referer ""`, index)
  if (text === 'none' || text === 'blocked' || text === 'server_names') return { kind: text, call }
  if (text.startsWith('~')) {
    const found = call.pattern(index, true, text.slice(1))
    return found === undefined ? undefined : { kind: 'pattern', pattern: found.pattern }
  }
  const slash = text.indexOf('/')
  const name = (slash === -1 ? text : text.slice(0, slash)).toLowerCase()
  if (!HOST.test(name)) return call.fail(`invalid hostname or wildcard "${shown(name)}"`, index)
  return { kind: 'host', name, path: slash === -1 ? '' : text.slice(slash) }
}

/** `valid_referers`. */
export const validReferers = rule<readonly Referer[]>('valid_referers', {
  in: ['server', 'location'],
  args: [1, MANY],
  isMany: true,
  parse: (call) => call.every((index, text) => parseReferer(call, index, text)),
})

/** `secure_link`: the checksum and the time of expiry. */
export const secureLink = rule('secure_link', { args: 1, parse: (call) => call.template(0) })

/** `secure_link_md5`: the text of the checksum. */
export const secureLinkMd5 = rule('secure_link_md5', { args: 1, parse: (call) => call.template(0) })

/** `secure_link_secret`, and where it is written. */
export const secureLinkSecret = rule('secure_link_secret', { args: 1, parse: (call) => ({ secret: call.arg(0), call }) })
