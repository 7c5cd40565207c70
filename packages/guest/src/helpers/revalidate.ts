import { checkedTag } from '../scope/cache-tags.ts'
import { purgesOf } from '../scope/pending-purges.ts'
import { currentScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

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
  if (scope.phase === 'page' && !scope.guest.isEnded)
    throw new RouterError('ROUTER_MISUSE', `${helper} cannot be called while a page is rendered. Call it in a route handler.`)
  return scope
}
