import { HttpError } from '../errors/errors.ts'
import { isToken } from '../syntax/characters.ts'
import { formatHttpDate } from './http-date.ts'

/** A cookie to set, with its attributes (RFC 6265 section 4.1). */
interface CookieToSet {
  readonly name: string
  /** Written as it is: only `cookie-octet`s are allowed. */
  readonly value: string
  readonly path?: string
  readonly domain?: string
  /** Lifetime in seconds; 0 removes the cookie. */
  readonly maxAgeSeconds?: number
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
  readonly isHttpOnly?: boolean
  readonly isSecure?: boolean
  readonly isPartitioned?: boolean
  readonly sameSite?: 'Strict' | 'Lax' | 'None'
}

/**
 * Parses a Cookie field (RFC 6265 section 4.2.1). Values come as sent, without the quotes around them and not decoded; of a
 * name sent twice the first counts, which is the one with the longer path (section 5.4). Pairs without "=" are left out.
 */
export function parseCookies(field: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const [name, pair] of pairsOf(field ?? '')) {
    if (name !== '' && !cookies.has(name)) cookies.set(name, unquoted(pair.slice(pair.indexOf('=') + 1).trim()))
  }
  return cookies
}

/**
 * Takes cookies out of a Cookie field.
 * @returns the field without them, the same string if it has none of them, or undefined if nothing is left
 */
export function removeCookies(field: string, names: ReadonlySet<string>): string | undefined {
  const pairs = pairsOf(field)
  const kept = pairs.filter(([name]) => !names.has(name))
  if (kept.length === pairs.length) return field
  return kept.length === 0 ? undefined : kept.map(([, pair]) => pair).join('; ')
}

/**
 * Writes a Set-Cookie field.
 * @throws HTTP_BAD_COOKIE when a part cannot be written without changing what the rest means
 */
export function serializeSetCookie(cookie: CookieToSet): string {
  if (!isToken(cookie.name)) throw badCookie('name', cookie.name)
  if (!/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(cookie.value)) throw badCookie('value of', cookie.name)
  let text = `${cookie.name}=${cookie.value}`
  if (cookie.path !== undefined) text += `; Path=${attribute('path', cookie.path)}`
  if (cookie.domain !== undefined) text += `; Domain=${attribute('domain', cookie.domain)}`
  if (cookie.maxAgeSeconds !== undefined) text += `; Max-Age=${Math.trunc(cookie.maxAgeSeconds)}`
  if (cookie.expiresAt !== undefined) text += `; Expires=${formatHttpDate(cookie.expiresAt)}`
  if (cookie.isHttpOnly) text += '; HttpOnly'
  if (cookie.isSecure) text += '; Secure'
  if (cookie.sameSite !== undefined) text += `; SameSite=${cookie.sameSite}`
  if (cookie.isPartitioned) text += '; Partitioned'
  return text
}

function pairsOf(field: string): ReadonlyArray<readonly [name: string, pair: string]> {
  const pairs: Array<readonly [string, string]> = []
  for (const part of field.split(';')) {
    const pair = part.trim()
    const equals = pair.indexOf('=')
    if (pair !== '') pairs.push([equals === -1 ? '' : pair.slice(0, equals).trimEnd(), pair])
  }
  return pairs
}

function unquoted(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

function attribute(kind: string, value: string): string {
  if (!/^[\x20-\x3a\x3c-\x7e]+$/.test(value)) throw badCookie(kind, value)
  return value
}

function badCookie(part: string, text: string): HttpError {
  return new HttpError('HTTP_BAD_COOKIE', { part, text: JSON.stringify(text) })
}
