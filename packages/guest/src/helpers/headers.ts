import { guestSettings } from '../host/settings.ts'
import { type ReadablePromise, readablePromiseOf } from '../scope/readable-promise.ts'
import { ReadonlyHeaders } from '../scope/readonly-headers.ts'
import { currentScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { SiteCookies } from '../scope/site-cookies.ts'

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
  return once(scope, cookies, () => readablePromiseOf(new SiteCookies(scope, fieldsOf(scope, isRead))))
}

function fieldsOf(scope: RequestScope, isRead: boolean): Headers {
  return new Headers(isRead ? scope.guest.begin.headers.map(([name, value]): [string, string] => [name, value]) : [])
}

function once<T>(scope: RequestScope, key: unknown, make: () => T): T {
  const known = scope.memo.get(key) as T | undefined
  if (known !== undefined) return known
  const made = make()
  scope.memo.set(key, made)
  return made
}

const draftCookie = '__prerender_bypass'

/** Whether drafts are shown to this client. */
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
