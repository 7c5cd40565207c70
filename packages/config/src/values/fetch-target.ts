import { isCidr } from '@svc/http'
import { normalizeHostPattern } from './hostname.ts'
import { parseListenAddress } from './listen-address.ts'

/** Whether a text names what a site's `fetch` may reach: a host name, `*.suffix`, an address, a CIDR or `host:port`. */
export function isFetchTarget(text: string): boolean {
  if (isCidr(text) || normalizeHostPattern(text) !== undefined) return true
  const address = parseListenAddress(text)
  return address !== undefined && address.port > 0
}
