import { readUpstreamAddress } from '../values/addresses.ts'
import type { DirectiveCall } from './directive-call.ts'
import { EVERYWHERE, MANY, rule } from './rule.ts'

const DNS_PORT = 53
const contexts = [...EVERYWHERE, 'upstream'] as const

/** `resolver` as written. */
interface WrittenResolver {
  readonly servers: readonly string[]
  readonly validMs: number | undefined
  readonly hasIpv4: boolean
  readonly hasIpv6: boolean
}

type Parameters = { -readonly [Key in keyof Omit<WrittenResolver, 'servers'>]: WrittenResolver[Key] }

/** Reads a parameter. False: it is an address. */
function applyParameter(call: DirectiveCall, index: number, resolver: Parameters): boolean {
  const text = call.arg(index)
  const [, name, value = ''] = /^([a-z_0-9]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined) return false
  if (name === 'valid') resolver.validMs = call.time(index, value)
  else if ((name === 'ipv4' || name === 'ipv6') && (value === 'on' || value === 'off'))
    resolver[name === 'ipv4' ? 'hasIpv4' : 'hasIpv6'] = value === 'on'
  else call.invalidParameter(index, 'expected addresses, valid=, ipv4= or ipv6=')
  return true
}

/** `resolver`. */
export const resolver = rule<WrittenResolver>('resolver', {
  in: contexts,
  args: [1, MANY],
  parse: (call) => {
    const parameters: Parameters = { validMs: undefined, hasIpv4: true, hasIpv6: true }
    const servers: string[] = []
    for (let index = 0; index < call.args.length; index++) {
      if (applyParameter(call, index, parameters)) continue
      const read = readUpstreamAddress(call.text(index), DNS_PORT)
      if ('error' in read || read.address.startsWith('unix:'))
        return call.fail(`${'error' in read ? read.error : 'invalid host'} in resolver "${call.text(index)}"`, index)
      servers.push(read.address)
    }
    if (servers.length === 0) return call.fail('no name servers defined')
    if (!parameters.hasIpv4 && !parameters.hasIpv6) return call.fail('"ipv4" and "ipv6" cannot both be "off"')
    return { servers, ...parameters }
  },
})

/** `resolver_timeout`. */
export const resolverTimeout = rule('resolver_timeout', { in: contexts, args: 1, parse: (call) => call.time(0) })
