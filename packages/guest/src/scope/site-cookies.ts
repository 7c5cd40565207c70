import type { ResponseCookie } from './cookie-text.ts'
import { type CookiePair, RequestCookies } from './request-cookies.ts'
import type { RequestScope } from './request-scope.ts'
import type { CookieOptions } from './response-cookies.ts'
import { RouterError } from './router-error.ts'

/**
 * The cookies of a request as `cookies()` shows them. In a route handler and in middleware they can be set and deleted: the
 * change is seen by later reads and goes out with the answer. A page cannot: its head may be out already.
 */
export class SiteCookies {
  readonly #scope: RequestScope
  readonly #cookies: RequestCookies

  constructor(scope: RequestScope, headers: { get(name: string): string | null }) {
    this.#scope = scope
    this.#cookies = new RequestCookies(headers)
  }

  get size(): number {
    return this.#cookies.size
  }

  get(name: string | CookiePair): CookiePair | undefined {
    return this.#cookies.get(name)
  }

  getAll(name?: string | CookiePair): CookiePair[] {
    return this.#cookies.getAll(name)
  }

  has(name: string): boolean {
    return this.#cookies.has(name)
  }

  /** Sets a cookie. Throws ROUTER_MISUSE in a page. */
  set(name: string | ResponseCookie, value?: string, options?: CookieOptions): this {
    this.#checkMayChange('set')
    const cookie: ResponseCookie = typeof name === 'string' ? { ...options, name, value: String(value ?? '') } : name
    this.#scope.responseCookies.set(cookie)
    this.#cookies.set({ name: cookie.name, value: cookie.value })
    return this
  }

  /** Makes the client forget a cookie. Throws ROUTER_MISUSE in a page. */
  delete(name: string | Omit<ResponseCookie, 'value' | 'expires'>): this {
    this.#checkMayChange('delete')
    this.#scope.responseCookies.delete(name)
    this.#cookies.delete(typeof name === 'string' ? name : name.name)
    return this
  }

  [Symbol.iterator](): IterableIterator<[string, CookiePair]> {
    return this.#cookies[Symbol.iterator]()
  }

  toString(): string {
    return this.#cookies.toString()
  }

  #checkMayChange(what: string): void {
    if (this.#scope.phase === 'handler' || this.#scope.phase === 'middleware') return
    throw new RouterError(
      'ROUTER_MISUSE',
      `cookies().${what} works in a route handler or in middleware, not while a page is rendered.`,
    )
  }
}
