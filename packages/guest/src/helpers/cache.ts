import { sourceOf } from '../lowering/async-to-generator.ts'
import { boundedTags } from '../scope/cache-tags.ts'
import { cachedResult, freshResult } from '../scope/cached-result.ts'
import { flushPurges } from '../scope/pending-purges.ts'
import { checkedRevalidate } from '../scope/request-fetch.ts'
import { findScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

/** Second and third argument of `unstable_cache`. */
interface CacheOptions {
  readonly tags?: readonly string[]
  /** Seconds, above 0, or false: for ever. */
  readonly revalidate?: number | false
}

type AsyncFunction = (...args: unknown[]) => Promise<unknown>
type UnstableCache = (compute: AsyncFunction, keyParts?: readonly string[], options?: CacheOptions) => AsyncFunction

/**
 * `unstable_cache` as one module imports it. `file` is the id of that module, by the registry: with the text of the function, the
 * key parts and the arguments it makes the key, so that equal functions of two files have results of their own.
 */
export function unstableCacheOf(file: string): UnstableCache {
  return (compute, keyParts = [], options = {}) => {
    const tags = boundedTags(options.tags ?? [], file)
    const { revalidate } = options
    if (revalidate !== undefined && checkedRevalidate(revalidate) === 0) {
      throw new RouterError('ROUTER_BAD_ARGUMENT', 'unstable_cache: revalidate must be above 0, or false.')
    }
    if (typeof compute !== 'function') throw new RouterError('ROUTER_BAD_ARGUMENT', 'unstable_cache() needs a function.')
    const name = [file, sourceOf(compute), JSON.stringify(keyParts)]
    return async (...args) => {
      const scope = findScope()
      if (scope === undefined || scope.phase === 'middleware') return await compute(...args)
      scope.facts.addTags(tags)
      if (revalidate !== undefined) scope.facts.limitRevalidate(revalidate)
      const run = async () => await compute(...args)
      // Within another cached function the outer result is what is kept.
      if (scope.isCached || scope.fetchCache === 'force-no-store') return await freshResult(scope, run)
      const parts = [...name, JSON.stringify(args)]
      return await remembered(scope, compute, parts.join('\0'), async () => {
        await flushPurges(scope.guest)
        return await cachedResult(scope, { parts, tags, revalidate: revalidate ?? false, compute: run })
      })
    }
  }
}

/** Equal calls of one request share a result. */
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
