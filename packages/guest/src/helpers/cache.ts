import { sourceOf } from '../lowering/async-to-generator.ts'
import { boundedTags, checkedTag } from '../scope/cache-tags.ts'
import { cachedResult, freshResult } from '../scope/cached-result.ts'
import { flushPurges, purgesOf } from '../scope/pending-purges.ts'
import { checkedRevalidate } from '../scope/request-fetch.ts'
import { currentScope, findScope, type RequestScope } from '../scope/request-scope.ts'
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
      // Within another cached function only the outer result is stored.
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
  const calls = scope.memo<unknown, Map<string, Promise<unknown>>>(remembered)
  const ofFunction = calls.get(compute) ?? new Map<string, Promise<unknown>>()
  calls.set(compute, ofFunction)
  const made = ofFunction.get(key) ?? run()
  ofFunction.set(key, made)
  return made
}

/** Makes the answer of this request one that no cache keeps. */
export function unstable_noStore(): void {
  findScope()?.read('no-store', 'unstable_noStore()')
}

/**
 * Purges everything of this site with a tag, in the whole instance: before the answer of the request goes out. Throws
 * ROUTER_MISUSE while a page is rendered, ROUTER_BAD_ARGUMENT for what is no tag.
 */
export function revalidateTag(tag: string): void {
  const name = checkedTag(tag)
  const scope = purgingScope('revalidateTag()')
  purgesOf(scope.guest).addTag(scope, name)
}

/**
 * Purges a path ("/blog/hello"), or with `type` a route pattern ("/blog/[slug]"); `layout`: with everything below it. Like
 * `revalidateTag`.
 */
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
  const scope = purgingScope('revalidatePath()')
  purgesOf(scope.guest).addPath(scope, type === undefined ? { path } : { path, type })
}

function purgingScope(helper: string): RequestScope {
  const scope = currentScope(helper)
  if (scope.isCached) throw new RouterError('ROUTER_MISUSE', `${helper} cannot be called inside unstable_cache().`)
  // Once the page is out, in `after()`, it may.
  if (scope.phase === 'page' && !scope.guest.answer.isEnded)
    throw new RouterError('ROUTER_MISUSE', `${helper} cannot be called while a page is rendered. Call it in a route handler.`)
  return scope
}
