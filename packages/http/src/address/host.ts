import { hexValue, isDigits, isRegNameCharacter } from '../syntax/characters.ts'
import { canonicalAddress } from './ip.ts'

/** A Host field taken apart. */
interface ParsedHost {
  /** Lower case, without port and trailing dot. An IPv6 literal keeps its brackets and is in RFC 5952 form. */
  readonly hostname: string
  /** Undefined when none is named, which a trailing ":" also means (RFC 3986 section 3.2.3). */
  readonly port: number | undefined
}

/** Longest host name taken: what DNS allows, with a little room. */
const MAX_HOSTNAME_LENGTH = 255
const PERCENT = 0x25

/**
 * Parses a Host field or `:authority`: `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2). Empty names and
 * empty labels are refused, as is user information.
 */
export function parseHost(value: string): ParsedHost | 'bad_host' {
  if (value.charCodeAt(0) === 0x5b) return parseIpLiteral(value)
  const colon = value.indexOf(':')
  const name = colon === -1 ? value : value.slice(0, colon)
  const hostname = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
  const port = colon === -1 ? undefined : parsePort(value.slice(colon + 1))
  return port !== 'bad_host' && isRegName(hostname) ? { hostname, port } : 'bad_host'
}

function parseIpLiteral(value: string): ParsedHost | 'bad_host' {
  const end = value.indexOf(']')
  if (end === -1) return 'bad_host'
  const inside = value.slice(1, end)
  if (!inside.includes(':')) return 'bad_host'
  const address = canonicalAddress(inside)
  const rest = value.slice(end + 1)
  if (address === undefined || (rest !== '' && !rest.startsWith(':'))) return 'bad_host'
  const port = rest === '' ? undefined : parsePort(rest.slice(1))
  if (port === 'bad_host') return 'bad_host'
  return { hostname: address.includes(':') ? `[${address}]` : address, port }
}

function parsePort(text: string): number | undefined | 'bad_host' {
  if (text === '') return undefined
  return text.length <= 5 && isDigits(text) && Number(text) <= 65_535 ? Number(text) : 'bad_host'
}

function isRegName(name: string): boolean {
  if (name.length === 0 || name.length > MAX_HOSTNAME_LENGTH) return false
  let previous = 0x2e
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (code === 0x2e && previous === 0x2e) return false
    if (code === PERCENT) {
      if (hexValue(name.charCodeAt(i + 1)) === -1 || hexValue(name.charCodeAt(i + 2)) === -1) return false
    } else if (!isRegNameCharacter(code)) {
      return false
    }
    previous = code
  }
  return previous !== 0x2e
}
