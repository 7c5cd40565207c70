import { fullTag, type PurgeScope, pathTag, purgePath, withoutTrailingSlash } from '@svc/cache'
import type { PathPurge } from '../../contract/data-methods.ts'
import { RenderError } from '../../errors/errors.ts'

const MAX_TAG_CHARS = 256
const MAX_PATH_CHARS = 1024

/** The scopes that a site orders, as full tags and as globs over them. */
export interface PurgeTargets {
  readonly tags: readonly string[]
  readonly globs: readonly string[]
}

/** Groups and slots are no part of a pattern: `/(shop)/items/[id]` is `/items/[id]`. */
function patternOf(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && !/^(?:\(.*\)|@.*)$/.test(segment))
  return `/${segments.join('/')}`
}

/** In a glob a literal star is escaped. */
function literal(text: string): string {
  return text.replaceAll('*', '\\*')
}

function tagOf(label: string, name: string): string {
  if (name === '' || name.length > MAX_TAG_CHARS || name.startsWith('/')) {
    throw new RenderError('RENDER_PURGE_REFUSED', `not a cache tag: ${JSON.stringify(name.slice(0, 80))}`)
  }
  return fullTag(label, name)
}

function checkedPath(path: string): string {
  if (path.startsWith('/') && path.length <= MAX_PATH_CHARS) return path
  throw new RenderError('RENDER_PURGE_REFUSED', `not a path: ${JSON.stringify(path.slice(0, 80))}`)
}

/**
 * The scopes that a site names in `revalidateTag` and `revalidatePath`, bound to its own label.
 * @throws RENDER_PURGE_REFUSED
 */
export function purgeTargets(label: string, tags: readonly string[], paths: readonly PathPurge[]): PurgeTargets {
  const found = { tags: new Set(tags.map((name) => tagOf(label, name))), globs: new Set<string>() }
  for (const { path, type } of paths) addPath(found, label, checkedPath(path), type)
  return { tags: [...found.tags], globs: [...found.globs] }
}

function addPath(
  found: { readonly tags: Set<string>; readonly globs: Set<string> },
  label: string,
  path: string,
  type: PathPurge['type'],
): void {
  if (type === undefined) {
    // As the router spells it, and as it was written: it may be a pattern after all.
    found.tags.add(pathTag(label, purgePath(path) ?? path)).add(fullTag(label, withoutTrailingSlash(path)))
    return
  }
  const pattern = patternOf(path)
  found.tags.add(fullTag(label, pattern))
  if (type === 'layout') found.globs.add(literal(fullTag(label, pattern === '/' ? '/' : `${pattern}/`)).concat('*'))
}

/** The scopes of an order. `label`: the one that all targets have. */
export function scopesOf(label: string, { tags, globs }: PurgeTargets): PurgeScope[] {
  const scopes: PurgeScope[] = globs.map((pattern) => ({ kind: 'pattern', pattern, labels: [label] }))
  return tags.length === 0 ? scopes : [{ kind: 'tags', tags }, ...scopes]
}
