import { type HeaderList, removeCookies, valuesOfCookie } from '@svc/http'
import { stringifySetCookie } from 'cookie'

const SESSION_COOKIE = 'SVC_ADMIN'
const COOKIE_PATH = '/__svc/'
const sessionCookies: ReadonlySet<string> = new Set([SESSION_COOKIE])
/**
 * A Set-Cookie field that makes browsers send our name: leading blanks are dropped, and a cookie without a name is sent as its value
 * alone. Other spellings of the name are refused with it, for readers of cookies that ignore case.
 */
const SETS_SESSION_COOKIE = /^[\0- =]*svc_admin(?![\w!#$%&'*+.^`|~-])/i

/** Tokens of cookies that are verified. A page of another host of the same domain can set some, but only so many fit into a request. */
const MAX_COOKIE_TOKENS = 16
const TOKEN_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Tokens and the way that they came. */
interface Credentials {
  /** One; of cookies as many as there are, in their order. */
  readonly tokens: readonly string[]
  readonly by: 'bearer' | 'cookie'
}

/** A request as the client sent it. */
interface SentRequest {
  readonly method: string
  readonly scheme: string
  /** Host that the client named, with port. */
  readonly host: string
  readonly headers: HeaderList
}

/** Reads the credentials of a request. A bearer token counts before the cookie. Undefined: there are none of a kind that we issue. */
export function readCredentials(headers: HeaderList): Credentials | undefined {
  return bearerOf(headers) ?? cookieOf(headers)
}

/** RFC 6750 section 2.1. The scheme is case-insensitive (RFC 9110 section 11.1). */
function bearerOf(headers: HeaderList): Credentials | undefined {
  const token = fieldOf(headers, 'authorization')?.match(/^bearer +([\w\-.~+/]+=*)$/i)?.[1]
  return token === undefined ? undefined : { tokens: [token], by: 'bearer' }
}

function cookieOf(headers: HeaderList): Credentials | undefined {
  const values = headers.flatMap(([name, field]) => (name === 'cookie' ? valuesOfCookie(field, SESSION_COOKIE) : []))
  const tokens = [...new Set(values.filter((value) => TOKEN_FORM.test(value)))].slice(0, MAX_COOKIE_TOKENS)
  return tokens.length === 0 ? undefined : { tokens, by: 'cookie' }
}

/** Value of the only field of a name. Of several, proxies and servers choose differently, so none counts. */
function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  const values = headers.filter(([name]) => name === wanted)
  return values.length === 1 ? values[0]?.[1].trim() : undefined
}

/**
 * Returns true if a request with the cookie cannot come from a page of another origin: it only reads, or it names the own origin and
 * has a field that pages of others cannot add without asking. A bearer token needs no such proof: browsers never send one unasked.
 */
export function isOwnPage({ method, scheme, host, headers }: SentRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  const origin = URL.parse(fieldOf(headers, 'origin') ?? '')?.origin
  const own = URL.parse(`${scheme}://${host}`)?.origin
  return own !== undefined && own !== 'null' && origin === own && fieldOf(headers, 'x-svc-request') === '1'
}

/** The Set-Cookie field of a session. */
export function sessionCookie(token: string, maxAgeSecs: number, isSecure: boolean): string {
  const value = { name: SESSION_COOKIE, value: token, path: COOKIE_PATH, maxAge: maxAgeSecs }
  return stringifySetCookie({ ...value, httpOnly: true, sameSite: 'strict', secure: isSecure })
}

/** The Set-Cookie field that ends a session in the browser. */
export function clearedSessionCookie(isSecure: boolean): string {
  return sessionCookie('', 0, isSecure)
}

/** Takes the session cookie out of a Cookie field. Returns the same string if it has none, and undefined if nothing is left. */
export function withoutSessionCookie(field: string): string | undefined {
  return field.includes(SESSION_COOKIE) ? removeCookies(field, sessionCookies) : field
}

/** Returns true if a Set-Cookie field of a site would set or clear the session cookie. */
export function namesSessionCookie(setCookie: string): boolean {
  return SETS_SESSION_COOKIE.test(setCookie)
}
