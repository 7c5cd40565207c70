import { cookieText, type ResponseCookie } from './cookie-text.ts'

/** Second part of `set(name, value, options)`. */
export type CookieOptions = Omit<ResponseCookie, 'name' | 'value'>

/** Cookies that an answer sets. A later cookie of the same name, domain and path replaces an earlier one. */
export class ResponseCookies {
  readonly #cookies = new Map<string, ResponseCookie>()
  readonly #onChange: (fields: readonly string[]) => void

  /** @param onChange - called with all Set-Cookie fields after each change */
  constructor(onChange: (fields: readonly string[]) => void = ignore) {
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

function ignore(): void {
  // Nobody wants to know.
}
