import { checkedRevalidate, checkedTag } from '../router/request-fetch.ts'
import { currentScope, findScope, type RequestScope } from '../router/request-scope.ts'
import { RouterError } from '../router/router-error.ts'

/** Second and third argument of `unstable_cache`. */
export interface CacheOptions {
  readonly tags?: readonly string[]
  /** Seconds, above 0, or false: for ever. */
  readonly revalidate?: number | false
}

type AsyncFunction = (...args: unknown[]) => Promise<unknown>

/**
 * Remembers the results of a function by its arguments and reports tags and time for the page. There is no data cache here:
 * results are shared within one request only. Throws ROUTER_BAD_ARGUMENT for a revalidate of 0 or a bad tag.
 */
export function unstable_cache(
  compute: AsyncFunction,
  keyParts: readonly string[] = [],
  options: CacheOptions = {},
): AsyncFunction {
  const tags = (options.tags ?? []).map(checkedTag)
  const { revalidate } = options
  if (revalidate !== undefined && checkedRevalidate(revalidate) === 0) {
    throw new RouterError('ROUTER_BAD_ARGUMENT', 'unstable_cache: revalidate must be above 0, or false.')
  }
  return async (...args) => {
    const scope = findScope()
    if (scope === undefined) return await compute(...args)
    for (const tag of tags) scope.guest.facts.tags.add(tag)
    if (revalidate !== undefined) scope.guest.facts.limitRevalidate(revalidate)
    return await remembered(scope, compute, JSON.stringify([keyParts, args]), () => compute(...args))
  }
}

function remembered(scope: RequestScope, compute: AsyncFunction, key: string, run: () => Promise<unknown>): Promise<unknown> {
  const calls = (scope.memo.get(compute) ?? new Map<string, Promise<unknown>>()) as Map<string, Promise<unknown>>
  scope.memo.set(compute, calls)
  const known = calls.get(key)
  if (known !== undefined) return known
  const made = run()
  calls.set(key, made)
  return made
}

/** Makes the answer of this request one that no cache keeps. */
export function unstable_noStore(): void {
  findScope()?.read('no-store', 'unstable_noStore()')
}

/** Purges everything with a tag. Checked and recorded with the request; nothing is kept across requests that had to be purged. */
export function revalidateTag(tag: string): void {
  recorder('revalidateTag()').add(`tag:${checkedTag(tag)}`)
}

/** Purges a path, or with `type` a route pattern. Checked and recorded like `revalidateTag`. */
export function revalidatePath(path: string, type?: 'layout' | 'page'): void {
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > 1024) {
    throw new RouterError(
      'ROUTER_BAD_ARGUMENT',
      'revalidatePath() needs a path that begins with "/", of at most 1024 characters.',
    )
  }
  if (type !== undefined && type !== 'layout' && type !== 'page') {
    throw new RouterError('ROUTER_BAD_ARGUMENT', 'revalidatePath(): the type is "layout", "page" or left out.')
  }
  recorder('revalidatePath()').add(`path:${path}${type === undefined ? '' : `:${type}`}`)
}

/** Key under which a request's `locals` hold the set of its purges: `tag:<tag>` and `path:<path>[:<type>]`. */
export const purgesKey: unique symbol = Symbol('purges')

function recorder(helper: string): Set<string> {
  const scope = currentScope(helper)
  if (scope.phase === 'page')
    throw new RouterError('ROUTER_MISUSE', `${helper} cannot be called while a page is rendered. Call it in a route handler.`)
  const { locals } = scope.guest
  const purges = (locals.get(purgesKey) ?? new Set<string>()) as Set<string>
  locals.set(purgesKey, purges)
  return purges
}
