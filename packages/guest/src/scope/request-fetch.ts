import type { FetchCache } from '../prelude/fetch/fetch.ts'
import { boundedTags } from './cache-tags.ts'
import { flushPurges } from './pending-purges.ts'
import { findScope, type RequestScope } from './request-scope.ts'
import { RouterError } from './router-error.ts'

/** Caching wishes of one fetch. */
interface NextFetchOptions {
  readonly revalidate?: number | false
  readonly tags?: readonly string[]
}

type FetchInit = RequestInit & { readonly cache?: string; readonly next?: NextFetchOptions }
/** Signature of `fetch`. */
type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>
/** The fetch behind it, which can go through the data cache. */
export type SendFetch = (input: string | URL | Request, init?: RequestInit, cache?: FetchCache) => Promise<Response>

/**
 * Wraps `fetch` for site code: takes its `next` and `cache` options into the facts of the page, sends cacheable
 * requests through the data cache, and answers equal GETs of one page render with one response.
 */
export function requestFetch(send: SendFetch): Fetch {
  return (input, init?: FetchInit) => {
    const scope = findScope()
    if (scope === undefined || scope.phase === 'middleware') return send(input, init)
    let cache: FetchCache | undefined
    try {
      cache = noteCaching(scope, input, init)
    } catch (error) {
      return Promise.reject(error)
    }
    const go = cache === undefined ? () => send(input, init) : () => sendCached(scope, () => send(input, init, cache))
    const key = scope.phase === 'page' ? memoKey(input, init) : undefined
    return key === undefined ? go() : remembered(scope, key, go)
  }
}

/** Data that this request has purged must not come back to it. */
function sendCached(scope: RequestScope, send: () => Promise<Response>): Promise<Response> {
  const purged = flushPurges(scope.guest)
  return purged === undefined ? send() : purged.then(send)
}

async function remembered(scope: RequestScope, key: string, send: () => Promise<Response>): Promise<Response> {
  const memo = scope.memo<string, Promise<Response>>(remembered)
  const first = memo.get(key) ?? send()
  memo.set(key, first)
  // Every caller gets a copy: the body of the first must stay unread for those that come later.
  return (await first).clone() as Response
}

/** Only plain GETs are answered from memory: no body, no signal, no Request object with state of its own. */
function memoKey(input: unknown, init: FetchInit | undefined): string | undefined {
  if (typeof input !== 'string' && !(input instanceof URL)) return undefined
  const method = init?.method?.toUpperCase() ?? 'GET'
  if (method !== 'GET' || init?.body || init?.signal) return undefined
  const headers = [...new Headers(init?.headers)].toSorted(([left], [right]) => (left < right ? -1 : 1))
  return JSON.stringify(['fetch', String(input), headers, init?.redirect, init?.cache, init?.credentials])
}

/** Takes the wishes of a fetch into the facts. Returns how it goes through the data cache; undefined: not at all. */
function noteCaching(scope: RequestScope, input: unknown, init: FetchInit | undefined): FetchCache | undefined {
  const { revalidate, tags: given = [] } = init?.next ?? {}
  const { facts } = scope
  const tags = boundedTags(given, scope.guest.route?.file ?? 'fetch')
  facts.addTags(tags)
  const isExplicit = typeof revalidate === 'number' || revalidate === false
  const time = isExplicit ? checkedRevalidate(revalidate) : undefined
  const cache = cacheMode(scope, init?.cache, revalidate)
  if (cache === 'no-store') scope.read('no-store', 'fetch without caching')
  if (scope.dynamic !== 'force-static' && scope.fetchCache !== 'force-cache' && time !== undefined) facts.limitRevalidate(time)
  if (cache !== 'cache' || !mayBeKept(input, init, isExplicit || init?.cache === 'force-cache')) return undefined
  return {
    // A segment that wants everything cached overrules a fetch that does not.
    revalidate: time === 0 ? false : (time ?? false),
    tags,
    isExplicit: isExplicit && time !== 0,
    onTags: (kept) => facts.addTags(kept),
  }
}

/** Answers to what changes something are never kept, those to POST only when the fetch itself says so. */
function mayBeKept(input: unknown, init: FetchInit | undefined, isAsked: boolean): boolean {
  const from = typeof input === 'object' && input !== null && 'method' in input ? String(input.method) : 'GET'
  const method = (init?.method ?? from).toUpperCase()
  return method === 'GET' || method === 'HEAD' || (method === 'POST' && isAsked)
}

/** True if a fetch bypasses caches, after the segment's `fetchCache` was applied. */
function cacheMode(scope: RequestScope, cache: string | undefined, revalidate: unknown): 'no-store' | 'cache' | 'unsaid' {
  const isOff = cache === 'no-store' || cache === 'no-cache' || revalidate === 0
  const isOn = cache === 'force-cache' || (revalidate !== undefined && revalidate !== 0)
  switch (scope.fetchCache) {
    case 'force-cache':
      return 'cache'
    case 'force-no-store':
      return 'no-store'
    case 'only-cache':
      if (isOff) throw new RouterError('ROUTER_MISUSE', 'fetchCache is "only-cache", but a fetch asks for no-store.')
      return 'cache'
    case 'only-no-store':
      if (isOn) throw new RouterError('ROUTER_MISUSE', 'fetchCache is "only-no-store", but a fetch asks to be cached.')
      return 'no-store'
    case 'default-no-store':
      return isOn ? 'cache' : 'no-store'
    case 'default-cache':
      return isOff ? 'no-store' : 'cache'
    default:
      return isOff ? 'no-store' : isOn ? 'cache' : 'unsaid'
  }
}

/** Checks a revalidate time: seconds or false. Throws ROUTER_BAD_ARGUMENT. */
export function checkedRevalidate(value: unknown): number | false {
  if (value === false || (typeof value === 'number' && value >= 0 && Number.isFinite(value))) return value
  throw new RouterError('ROUTER_BAD_ARGUMENT', `revalidate must be a number of seconds or false, not ${shown(value)}.`)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
}
