import { RouterError } from './router-error.ts'

/** A cookie to set (RFC 6265). */
export interface ResponseCookie {
  readonly name: string
  readonly value: string
  /** @default "/" */
  readonly path?: string
  readonly domain?: string
  /** Seconds. */
  readonly maxAge?: number
  /** Date or milliseconds since 1970. */
  readonly expires?: Date | number
  readonly httpOnly?: boolean
  readonly secure?: boolean
  readonly sameSite?: boolean | 'lax' | 'strict' | 'none'
  readonly partitioned?: boolean
  readonly priority?: 'low' | 'medium' | 'high'
}

/** Parses a Cookie field. Values are percent-decoded; one that cannot be decoded stays as sent. The first of a name wins. */
export function parseCookies(header: string): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    const name = (at < 0 ? pair : pair.slice(0, at)).trim()
    if (name === '' || cookies.has(name)) continue
    cookies.set(name, at < 0 ? 'true' : decode(pair.slice(at + 1).trim()))
  }
  return cookies
}

function decode(value: string): string {
  const bare = value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
  try {
    return decodeURIComponent(bare)
  } catch {
    // A lone percent sign is legal in a cookie; it then means itself.
    return bare
  }
}

/** Serialises a cookie to a Set-Cookie field. Throws ROUTER_BAD_ARGUMENT for what would break out of its place. */
export function cookieText(cookie: ResponseCookie): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(cookie.name)) refuse(cookie.name, 'name')
  const parts = [`${cookie.name}=${encodeURIComponent(cookie.value)}`, `Path=${plain(cookie, 'path') ?? '/'}`]
  const domain = plain(cookie, 'domain')
  if (cookie.expires !== undefined) parts.push(`Expires=${new Date(cookie.expires).toUTCString()}`)
  if (cookie.maxAge !== undefined) parts.push(`Max-Age=${Math.trunc(Number(cookie.maxAge))}`)
  if (domain !== undefined) parts.push(`Domain=${domain}`)
  if (cookie.secure) parts.push('Secure')
  if (cookie.httpOnly) parts.push('HttpOnly')
  if (cookie.sameSite !== undefined && cookie.sameSite !== false) parts.push(`SameSite=${sameSiteOf(cookie)}`)
  if (cookie.partitioned) parts.push('Partitioned')
  if (cookie.priority !== undefined) parts.push(`Priority=${priorityOf(cookie)}`)
  return parts.join('; ')
}

function plain(cookie: ResponseCookie, field: 'path' | 'domain'): string | undefined {
  const value = cookie[field]
  if (value === undefined) return undefined
  const text = String(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\x00-\x1f;\x7f]/.test(text)) refuse(cookie.name, field)
  return text
}

function sameSiteOf(cookie: ResponseCookie): string {
  const value = cookie.sameSite === true ? 'strict' : String(cookie.sameSite).toLowerCase()
  if (value !== 'lax' && value !== 'strict' && value !== 'none') refuse(cookie.name, 'sameSite')
  return value
}

function priorityOf(cookie: ResponseCookie): string {
  const value = String(cookie.priority).toLowerCase()
  if (value !== 'low' && value !== 'medium' && value !== 'high') refuse(cookie.name, 'priority')
  return value
}

function refuse(name: string, field: string): never {
  throw new RouterError('ROUTER_BAD_ARGUMENT', `The cookie ${JSON.stringify(name)} has an invalid ${field}.`)
}
