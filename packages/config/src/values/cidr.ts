import { isIP } from 'node:net'

/** Whether a text is an address or a network in CIDR notation (RFC 4632, RFC 4291 section 2.3). */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}
