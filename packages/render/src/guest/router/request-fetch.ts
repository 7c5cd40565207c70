import { findScope, type RequestScope } from './request-scope.ts'
import { RouterError } from './router-error.ts'

/** Caching wishes of one fetch. */
interface NextFetchOptions {
  readonly revalidate?: number | false
  readonly tags?: readonly string[]
}

type FetchInit = RequestInit & { readonly cache?: string; readonly next?: NextFetchOptions }
/** What `fetch` is called like. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Wraps `fetch` for site code: takes its `next` and `cache` options into the facts of the page, and answers equal GETs of one
 * page render with one response. There is no data cache here: across requests every fetch goes out.
 */
export function requestFetch(send: Fetch): Fetch {
  return (input, init?: FetchInit) => {
    const scope = findScope()
    if (scope === undefined || scope.phase === 'middleware') return send(input, init)
    try {
      noteCaching(scope, init)
    } catch (error) {
      return Promise.reject(error)
    }
    const key = scope.phase === 'page' ? memoKey(input, init) : undefined
    return key === undefined ? send(input, init) : remembered(scope, key, () => send(input, init))
  }
}

async function remembered(scope: RequestScope, key: string, send: () => Promise<Response>): Promise<Response> {
  const known = scope.memo.get(key) as Promise<Response> | undefined
  const first = known ?? send()
  if (known === undefined) scope.memo.set(key, first)
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

function noteCaching(scope: RequestScope, init: FetchInit | undefined): void {
  const { revalidate, tags } = init?.next ?? {}
  for (const tag of tags ?? []) scope.guest.facts.tags.add(checkedTag(tag))
  const cache = cacheMode(scope, init?.cache, revalidate)
  if (cache === 'no-store') scope.read('no-store', 'fetch without caching')
  if (scope.dynamic === 'force-static' || scope.fetchCache === 'force-cache') return
  if (typeof revalidate === 'number' || revalidate === false) scope.guest.facts.limitRevalidate(checkedRevalidate(revalidate))
}

/** Whether a fetch asks to be left out of caches, after the segment's `fetchCache` had its say. */
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
    default:
      return isOff ? 'no-store' : isOn ? 'cache' : 'unsaid'
  }
}

/** Checks a cache tag: 1 to 256 characters, not beginning with "/" (those are paths). Throws ROUTER_BAD_ARGUMENT. */
export function checkedTag(tag: unknown): string {
  if (typeof tag === 'string' && tag !== '' && tag.length <= 256 && !tag.startsWith('/')) return tag
  throw new RouterError(
    'ROUTER_BAD_ARGUMENT',
    `A cache tag is a text of 1 to 256 characters without a leading "/", not ${shown(tag)}.`,
  )
}

/** Checks a revalidate time: seconds or false. Throws ROUTER_BAD_ARGUMENT. */
export function checkedRevalidate(value: unknown): number | false {
  if (value === false || (typeof value === 'number' && value >= 0 && Number.isFinite(value))) return value
  throw new RouterError('ROUTER_BAD_ARGUMENT', `revalidate must be a number of seconds or false, not ${shown(value)}.`)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
}
