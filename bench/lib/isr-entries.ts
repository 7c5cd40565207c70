import { type EntryFacts, type EntryStore, responseTags } from '@svc/cache'

/** Entries that carry one tag, as the posts of an author do. */
export const GROUP = 100
export const LARGE_GROUP = 10_000
/** Puts in flight at a time. */
const BATCH = 64

/** The path of the entry with this index. */
export const pathOf = (index: number) => `/posts/${index}`
/** The tag of the `GROUP` entries with this number. */
export const groupTag = (group: number) => `author-${group}`
/** The tag of the `LARGE_GROUP` entries with this number. */
export const largeGroupTag = (group: number) => `year-${group}`

/** The key of an entry in the store. */
export const keyOf = (label: string, index: number) => `${label}\0${pathOf(index)}\0\0`

/** Returns the facts of an entry: a page of one post, with the tags of its groups. */
export function factsOf(label: string, index: number): EntryFacts {
  const path = pathOf(index)
  const groups = [groupTag(Math.floor(index / GROUP)), largeGroupTag(Math.floor(index / LARGE_GROUP))]
  return {
    kind: 'response',
    label,
    path,
    host: '',
    isQueryKeyed: false,
    tags: responseTags(label, path, '/posts/[slug]', groups),
    createdAt: Date.now(),
    ttlMs: 3_600_000,
    swrMs: 3_600_000,
    isMarkedStale: false,
    seq: 0,
    status: 200,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['etag', `"${index.toString(16).padStart(16, '0')}"`],
    ],
  }
}

/** Puts entries from one index up to, but not including, another. Rejects if the store refuses one. */
export async function fill(store: EntryStore, label: string, body: Buffer, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += BATCH) {
    const indexes = Array.from({ length: Math.min(BATCH, to - at) }, (_, offset) => at + offset)
    const areStored = await Promise.all(indexes.map((index) => store.put(keyOf(label, index), factsOf(label, index), body)))
    if (areStored.includes(false)) throw new Error(`the store did not take the entries from ${at} on`)
  }
}
