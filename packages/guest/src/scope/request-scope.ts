import { AsyncLocalStorage } from '../context/async-local-storage.ts'
import { keepContext } from '../context/context.ts'
import { Facts, type RequestRead } from '../request/answer.ts'
import { currentRequest, type GuestRequest } from '../request/guest-request.ts'
import { ResponseCookies } from './cookies.ts'
import { RouterError } from './router-error.ts'

/** The kind of site code that is running: it decides which helpers it may call. */
type Phase = 'page' | 'handler' | 'metadata' | 'middleware'

/** `dynamic` of the segments that answer. */
export type DynamicMode = 'auto' | 'force-dynamic' | 'force-static' | 'error'

/** `fetchCache` of the segments that answer. */
export type FetchCacheMode =
  | 'auto'
  | 'default-cache'
  | 'only-cache'
  | 'force-cache'
  | 'force-no-store'
  | 'default-no-store'
  | 'only-no-store'

/** State of the router for one request. */
export class RequestScope {
  readonly guest: GuestRequest
  readonly phase: Phase
  /** Facts that the running code reads and sets for its caching. */
  readonly facts: Facts
  /** True while the running code makes a result of `unstable_cache`, which other requests share. */
  readonly isCached: boolean
  /** Cookies to set: those of `cookies().set` in handlers and middleware. */
  readonly responseCookies = new ResponseCookies()
  /** Runs a task in the context of this request, from code that lost it. */
  readonly run: <T>(task: () => T) => T
  /** True once the response is on its way. */
  isAnswered = false
  dynamic: DynamicMode = 'auto'
  fetchCache: FetchCacheMode = 'auto'
  readonly #memos = new Map<unknown, Map<unknown, unknown>>()
  #url: URL | undefined

  constructor(guest: GuestRequest, phase: Phase, facts?: Facts) {
    this.guest = guest
    this.phase = phase
    this.facts = facts ?? guest.facts
    this.isCached = facts !== undefined
    this.run = keepContext((task: () => unknown) => task()) as <T>(task: () => T) => T
  }

  /** Results of earlier calls in this request. Each `owner` has a table of its own: two may have the same keys. */
  memo<Key, Value>(owner: unknown): Map<Key, Value> {
    const known = this.#memos.get(owner) ?? new Map<unknown, unknown>()
    this.#memos.set(owner, known)
    return known as Map<Key, Value>
  }

  /** The request's URL. For the router's own use: reading it is not reported. */
  get url(): URL {
    this.#url ??= new URL(this.guest.begin.url)
    return this.#url
  }

  /**
   * Reports that the answer depends on a part of the request. Returns false when the segment is `force-static`: the caller
   * then shows nothing of the request. Throws ROUTER_DYNAMIC_READ when the segment says `dynamic = "error"`.
   */
  read(part: RequestRead, helper: string): boolean {
    if (this.isCached) return this.#readCached(part, helper)
    if (this.dynamic === 'force-static') return false
    if (this.dynamic === 'error') {
      throw new RouterError('ROUTER_DYNAMIC_READ', `This segment has dynamic = "error", but ${helper} was used.`)
    }
    this.facts.reads.add(part)
    return true
  }

  #readCached(part: RequestRead, helper: string): boolean {
    if (part === 'no-store') return true
    throw new RouterError(
      'ROUTER_MISUSE',
      `${helper} was used inside unstable_cache(), whose results are kept for all requests. Read it before and pass it as an argument.`,
    )
  }
}

const scopeKey = Symbol('scope')

/** Makes the scope of a request when a runner begins. */
export function openScope(guest: GuestRequest, phase: Phase): RequestScope {
  const scope = new RequestScope(guest, phase)
  guest.locals.set(scopeKey, scope)
  return scope
}

const cacheScopes = new AsyncLocalStorage<RequestScope>()

/**
 * Runs code whose result is kept by `unstable_cache`: its facts are collected apart, and its own fetches go out,
 * since the result as a whole is kept.
 */
export async function runCached<T>(scope: RequestScope, task: () => Promise<T>): Promise<{ value: T; facts: Facts }> {
  const facts = new Facts()
  const cached = new RequestScope(scope.guest, scope.phase, facts)
  cached.fetchCache = 'force-no-store'
  const value = await cacheScopes.run(cached, task)
  return { value, facts }
}

/** The scope of the running code; undefined outside of a request. */
export function findScope(): RequestScope | undefined {
  return cacheScopes.getStore() ?? requestScope()
}

function requestScope(): RequestScope | undefined {
  return currentRequest()?.locals.get(scopeKey) as RequestScope | undefined
}

/** The scope of the running code. Throws ROUTER_NO_REQUEST outside of a request; `helper` is named in the message. */
export function currentScope(helper: string): RequestScope {
  const scope = findScope()
  if (scope === undefined) {
    throw new RouterError(
      'ROUTER_NO_REQUEST',
      `${helper} was called outside of a request. Call it while a page or a handler runs.`,
    )
  }
  return scope
}
