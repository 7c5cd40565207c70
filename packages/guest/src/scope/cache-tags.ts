import { siteLog } from '../host/site-log.ts'
import { RouterError } from './router-error.ts'

/** Tags of one `fetch` or `unstable_cache`. */
const MAX_TAGS = 128
const MAX_TAG_CHARS = 256
/** Files whose dropped tags have been logged. */
const warned = new Set<string>()

/** Checks a cache tag: 1 to 256 characters, not beginning with "/" (those are paths). Throws ROUTER_BAD_ARGUMENT. */
export function checkedTag(tag: unknown): string {
  if (isTag(tag) && tag.length <= MAX_TAG_CHARS) return tag
  throw badTag(tag)
}

/**
 * The tags that code gives to something that is kept. Those that are too long, and those past the 128th, are left out; the log
 * says so once per file.
 * @param where the file, for the log
 * @throws ROUTER_BAD_ARGUMENT for a value that is no tag at all
 */
export function boundedTags(tags: readonly unknown[], where: string): string[] {
  const kept: string[] = []
  for (let place = 0; place < tags.length; place++) {
    const tag = tags[place]
    if (!isTag(tag)) throw badTag(tag)
    if (kept.length === MAX_TAGS) {
      warn(where, `it gives ${tags.length} cache tags at once`)
      break
    }
    if (tag.length <= MAX_TAG_CHARS) kept.push(tag)
    else warn(where, `a cache tag of it has ${tag.length} characters`)
  }
  return kept
}

function isTag(tag: unknown): tag is string {
  return typeof tag === 'string' && tag !== '' && !tag.startsWith('/')
}

function badTag(tag: unknown): RouterError {
  const shown = typeof tag === 'string' ? JSON.stringify(tag.slice(0, 80)) : String(tag)
  return new RouterError(
    'ROUTER_BAD_ARGUMENT',
    `A cache tag is a text of 1 to ${MAX_TAG_CHARS} characters without a leading "/", not ${shown}.`,
  )
}

function warn(where: string, what: string): void {
  if (warned.has(where)) return
  warned.add(where)
  siteLog('warn', `${where}: ${what}. At most ${MAX_TAGS} tags of ${MAX_TAG_CHARS} characters are kept, the others are left out.`)
}
