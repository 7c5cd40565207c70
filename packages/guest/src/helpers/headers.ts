import { guestSettings } from '../host/host.ts'
import { Headers as GuestHeaders } from '../prelude/fetch/headers.ts'
import { type CookieOptions, parseCookies, ReadableCookies, type ResponseCookie } from '../scope/cookies.ts'
import { type ReadablePromise, readablePromiseOf } from '../scope/readable-promise.ts'
import { currentScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

/** Fields of a request as `headers()` shows them. */
class ReadonlyHeaders extends GuestHeaders {
  override append(): never {
    return refuseChange()
  }

  override set(): never {
    return refuseChange()
  }

  override delete(): never {
    return refuseChange()
  }
}

function refuseChange(): never {
  throw new RouterError('ROUTER_MISUSE', 'The fields of a request cannot be changed. Middleware can, for what follows.')
}

/**
 * The cookies of a request as `cookies()` shows them. In a route handler and in middleware they can be set and deleted: the
 * change is seen by later reads and goes out with the answer. A page cannot: its head may be out already.
 */
class SiteCookies extends ReadableCookies {
  readonly #scope: RequestScope
  readonly #cookies: Map<string, string>

  constructor(scope: RequestScope, header: string) {
    const cookies = parseCookies(header)
    super(cookies)
    this.#scope = scope
    this.#cookies = cookies
  }

  /** Sets a cookie. Throws ROUTER_MISUSE in a page. */
  set(name: string | ResponseCookie, value?: string, options?: CookieOptions): this {
    this.#checkMayChange('set')
    const cookie: ResponseCookie = typeof name === 'string' ? { ...options, name, value: String(value ?? '') } : name
    this.#scope.responseCookies.set(cookie)
    this.#cookies.set(cookie.name, cookie.value)
    return this
  }

  /** Makes the client forget a cookie. Throws ROUTER_MISUSE in a page. */
  delete(name: string | Omit<ResponseCookie, 'value' | 'expires'>): this {
    this.#checkMayChange('delete')
    this.#scope.responseCookies.delete(name)
    this.#cookies.delete(typeof name === 'string' ? name : name.name)
    return this
  }

  #checkMayChange(what: string): void {
    if (this.#scope.phase === 'handler' || this.#scope.phase === 'middleware') return
    throw new RouterError(
      'ROUTER_MISUSE',
      `cookies().${what} works in a route handler or in middleware, not while a page is rendered.`,
    )
  }
}

/** The fields of the request; a promise that can also be used directly. Makes the answer depend on them. */
export function headers(): ReadablePromise<ReadonlyHeaders> {
  const scope = currentScope('headers()')
  const isRead = scope.read('headers', 'headers()')
  return once(scope, headers, () => readablePromiseOf(new ReadonlyHeaders(fieldsOf(scope, isRead))))
}

/** The cookies of the request; a promise that can also be used directly. Makes the answer depend on them. */
export function cookies(): ReadablePromise<SiteCookies> {
  const scope = currentScope('cookies()')
  const isRead = scope.read('cookies', 'cookies()')
  return once(scope, cookies, () =>
    readablePromiseOf(new SiteCookies(scope, new Headers(fieldsOf(scope, isRead)).get('cookie') ?? '')),
  )
}

function fieldsOf(scope: RequestScope, isRead: boolean): [string, string][] {
  return isRead ? scope.guest.begin.headers.map(([name, value]) => [name, value]) : []
}

function once<T>(scope: RequestScope, key: unknown, make: () => T): T {
  const memo = scope.memo<unknown, T>(once)
  const made = memo.get(key) ?? make()
  memo.set(key, made)
  return made
}

const draftCookie = '__prerender_bypass'

/** True if drafts are shown to this client. */
interface DraftMode {
  readonly isEnabled: boolean
  /** Turns it on for this client. In a route handler only. */
  enable(): void
  disable(): void
}

/**
 * Draft mode: on for a client whose cookie holds the secret that the site's environment has as `SVC_DRAFT_SECRET`. Without
 * that variable it is never on, and `enable` throws ROUTER_MISUSE. A promise that can also be used directly.
 */
export function draftMode(): ReadablePromise<DraftMode> {
  const scope = currentScope('draftMode()')
  return readablePromiseOf(new SiteDraftMode(scope))
}

class SiteDraftMode implements DraftMode {
  readonly #scope: RequestScope
  readonly #secret: string

  constructor(scope: RequestScope) {
    this.#scope = scope
    this.#secret = guestSettings().env['SVC_DRAFT_SECRET'] ?? ''
  }

  get isEnabled(): boolean {
    if (this.#secret === '') return false
    return this.#scope.read('cookies', 'draftMode()') && cookies().get(draftCookie)?.value === this.#secret
  }

  enable(): void {
    if (this.#secret === '')
      throw new RouterError('ROUTER_MISUSE', 'draftMode().enable() needs SVC_DRAFT_SECRET in the environment of the site.')
    const secure = this.#scope.url.protocol === 'https:'
    cookies().set({ name: draftCookie, value: this.#secret, httpOnly: true, sameSite: secure ? 'none' : 'lax', secure })
  }

  disable(): void {
    cookies().delete(draftCookie)
  }
}
