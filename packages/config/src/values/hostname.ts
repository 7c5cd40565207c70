import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const name = new RegExp(`^${label}(?:\\.${label})*$`)

/**
 * Brings a host name to the form it is compared in: lower case, international names as ASCII, no trailing dot.
 * Undefined when the text is no host name.
 */
export function normalizeHostname(text: string): string | undefined {
  const bare = text.replace(/\.$/, '')
  if (/^\[.*\]$/.test(bare)) return isIP(bare.slice(1, -1)) === 6 ? bare.toLowerCase() : undefined
  const ascii = /^[\x21-\x7e]+$/.test(bare) ? bare.toLowerCase() : domainToASCII(bare)
  return ascii.length <= 253 && name.test(ascii) ? ascii : undefined
}

/** Brings `name` or `*.suffix` to the form it is compared in. Undefined when it is neither. */
export function normalizeHostPattern(text: string): string | undefined {
  if (!text.startsWith('*.')) return normalizeHostname(text)
  const suffix = normalizeHostname(text.slice(2))
  return suffix === undefined || isIP(suffix) !== 0 ? undefined : `*.${suffix}`
}
