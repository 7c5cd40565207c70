import type { LocationMatch } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { DirectiveCall } from './directive-call.ts'
import { MANY, rule } from './rule.ts'

/** `http {}` of a whole nginx.conf. */
export const httpBlock = rule('http', { in: ['core'], args: 0, form: 'block', parse: (call) => call })

/** `events {}` of a whole nginx.conf. */
export const eventsBlock = rule('events', { in: ['core'], args: 0, form: 'block', parse: (call) => call })

/** `server {}`. */
export const serverBlock = rule('server', { in: ['main'], args: 0, form: 'block', isMany: true, parse: (call) => call })

/** `upstream name {}`. */
export const upstreamBlock = rule('upstream', { in: ['main'], args: 1, form: 'block', isMany: true, parse: (call) => call })

/** A block that defines a variable. In the order of the files, the last of two of one name counts. */
const variableBlock = (name: string, args: number | readonly [min: number, max: number]) =>
  rule(name, { in: ['main'], args, slot: 'variables', form: 'block', isMany: true, parse: (call) => call })

/** `map source $variable {}`. */
export const mapBlock = variableBlock('map', 2)

/** `geo [$address] $variable {}`. */
export const geoBlock = variableBlock('geo', [1, 2])

/** `split_clients text $variable {}`. */
export const splitClientsBlock = variableBlock('split_clients', 2)

const METHODS: readonly string[] = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'MKCOL', 'COPY', 'MOVE', 'OPTIONS', 'PROPFIND', 'PROPPATCH', 'LOCK', 'UNLOCK'],
  'PATCH',
]

/** `limit_except method ... {}`: the methods that it leaves alone. HEAD comes with GET. */
export const limitExceptBlock = rule<{ readonly methods: readonly string[]; readonly call: DirectiveCall }>('limit_except', {
  in: ['location'],
  args: [1, MANY],
  form: 'block',
  parse: (call) => {
    const methods = call.every((index, text) => {
      const method = text.toUpperCase()
      return METHODS.includes(method) ? method : call.fail(`invalid method "${shown(text)}"`, index)
    })
    if (methods === undefined) return undefined
    return { methods: methods.includes('GET') ? [...methods, 'HEAD'] : methods, call }
  },
})

/** A location and where it is written. */
export interface WrittenLocation {
  readonly match: LocationMatch
  readonly call: DirectiveCall
}

function pathMatch(call: DirectiveCall, index: number, isExact: boolean, isFirst: boolean): LocationMatch | undefined {
  const path = call.arg(index)
  if (path.startsWith('@') && index === 0) {
    return path.length > 1 ? { kind: 'named', name: path.slice(1) } : call.fail(`invalid location name "${path}"`, index)
  }
  return isExact ? { kind: 'exact', path } : { kind: 'prefix', path, isFirst }
}

function matchOf(call: DirectiveCall): LocationMatch | undefined {
  // `location =/x` and `location ~x`, without a space, are what nginx reads too.
  const [, modifier = '', glued = ''] =
    call.args.length > 1 ? [undefined, call.arg(0), ''] : (/^(=|\^~|~\*|~)?(.*)$/s.exec(call.arg(0)) ?? [])
  const index = call.args.length - 1
  const text = call.args.length > 1 ? call.arg(1) : glued
  switch (modifier) {
    case '~':
    case '~*': {
      const found = call.pattern(index, modifier === '~*', text)
      return found === undefined ? undefined : { kind: 'pattern', pattern: found.pattern }
    }
    case '=':
      return call.args.length > 1 ? pathMatch(call, index, true, false) : { kind: 'exact', path: text }
    case '^~':
      return call.args.length > 1 ? pathMatch(call, index, false, true) : { kind: 'prefix', path: text, isFirst: true }
    case '':
      return call.args.length > 1 ? call.fail('invalid location modifier ""', 0) : pathMatch(call, 0, false, false)
    default:
      return call.fail(`invalid location modifier "${shown(modifier)}"`, 0, 'expected =, ^~, ~ or ~*')
  }
}

/** `location match {}`. */
export const locationBlock = rule<WrittenLocation>('location', {
  in: ['server', 'location'],
  args: [1, 2],
  form: 'block',
  isMany: true,
  parse: (call) => {
    const match = matchOf(call)
    return match === undefined ? undefined : { match, call }
  },
})
