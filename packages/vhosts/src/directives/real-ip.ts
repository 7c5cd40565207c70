import { isCidr } from '@svc/http'
import { PROXY_PROTOCOL } from '../values/addresses.ts'
import { rule } from './rule.ts'

/** `set_real_ip_from`: an address, a CIDR or "unix:". */
export const setRealIpFrom = rule('set_real_ip_from', {
  args: 1,
  isMany: true,
  parse: (call) => {
    const source = call.arg(0)
    if (source === 'unix:') return source
    return isCidr(source)
      ? source.toLowerCase()
      : call.invalidParameter(0, 'expected an address, a CIDR or "unix:"; host names are not resolved')
  },
})

/** `real_ip_header`, in lower case. */
export const realIpHeader = rule('real_ip_header', {
  args: 1,
  parse: (call) => (call.arg(0) === PROXY_PROTOCOL ? PROXY_PROTOCOL : call.fieldName(0)?.toLowerCase()),
})

/** `real_ip_recursive`. */
export const realIpRecursive = rule('real_ip_recursive', { args: 1, parse: (call) => call.flag(0) })
