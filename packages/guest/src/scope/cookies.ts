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
function cookieText(cookie: ResponseCookie): string {
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

/** A cookie as it is read. */
interface CookiePair {
  readonly name: string
  readonly value: string
}

/** Cookies of a request, to be read. */
export class ReadableCookies {
  readonly #cookies: ReadonlyMap<string, string>

  constructor(cookies: ReadonlyMap<string, string>) {
    this.#cookies = cookies
  }

  get size(): number {
    return this.#cookies.size
  }

  get(name: string | CookiePair): CookiePair | undefined {
    const key = nameOf(name)
    const value = this.#cookies.get(key)
    return value === undefined ? undefined : { name: key, value }
  }

  getAll(name?: string | CookiePair): CookiePair[] {
    const all = [...this.#cookies].map(([key, value]) => ({ name: key, value }))
    return name === undefined ? all : all.filter((cookie) => cookie.name === nameOf(name))
  }

  has(name: string): boolean {
    return this.#cookies.has(name)
  }

  [Symbol.iterator](): IterableIterator<[string, CookiePair]> {
    return this.getAll()
      .map((cookie): [string, CookiePair] => [cookie.name, cookie])
      .values()
  }

  /** The Cookie field that these cookies make. */
  toString(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  }
}

/** The cookies of a `NextRequest`. Changes to it are seen by later reads of the same request only. */
export class RequestCookies extends ReadableCookies {
  readonly #cookies: Map<string, string>

  constructor(headers: { get(name: string): string | null }) {
    const cookies = parseCookies(headers.get('cookie') ?? '')
    super(cookies)
    this.#cookies = cookies
  }

  set(name: string | CookiePair, value?: string): this {
    const pair = typeof name === 'string' ? { name, value: value ?? '' } : name
    this.#cookies.set(pair.name, pair.value)
    return this
  }

  /** Returns whether there was such a cookie; for a list, one answer each. */
  delete(names: string | readonly string[]): boolean | boolean[] {
    return typeof names === 'string' ? this.#cookies.delete(names) : names.map((name) => this.#cookies.delete(name))
  }

  clear(): this {
    this.#cookies.clear()
    return this
  }
}

function nameOf(name: string | CookiePair): string {
  return typeof name === 'string' ? name : name.name
}

/** Second part of `set(name, value, options)`. */
export type CookieOptions = Omit<ResponseCookie, 'name' | 'value'>

/** Cookies that an answer sets. A later cookie of the same name, domain and path replaces an earlier one. */
export class ResponseCookies {
  readonly #cookies = new Map<string, ResponseCookie>()
  readonly #onChange: (fields: readonly string[]) => void

  /** @param onChange - called with all Set-Cookie fields after each change */
  constructor(onChange: (fields: readonly string[]) => void = () => undefined) {
    this.#onChange = onChange
  }

  get fields(): readonly string[] {
    return [...this.#cookies.values()].map(cookieText)
  }

  get(name: string): ResponseCookie | undefined {
    return this.getAll(name)[0]
  }

  getAll(name?: string): ResponseCookie[] {
    const all = [...this.#cookies.values()]
    return name === undefined ? all : all.filter((cookie) => cookie.name === name)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  set(name: string | ResponseCookie, value?: string, options?: CookieOptions): this {
    const cookie = typeof name === 'string' ? { ...options, name, value: String(value ?? '') } : name
    const normal: ResponseCookie = { path: '/', ...cookie }
    // Refuses a bad cookie where it is set, not when the answer is sent.
    cookieText(normal)
    this.#cookies.set(`${normal.name};${normal.domain ?? ''};${normal.path ?? ''}`, normal)
    this.#onChange(this.fields)
    return this
  }

  /** Sets the cookie to be forgotten by the client. */
  delete(name: string | Omit<ResponseCookie, 'value' | 'expires'>): this {
    const cookie = typeof name === 'string' ? { name } : name
    return this.set({ ...cookie, value: '', expires: new Date(0) })
  }

  toString(): string {
    return this.fields.join('; ')
  }
}
