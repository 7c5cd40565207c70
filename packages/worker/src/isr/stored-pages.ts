import { type EntryStore, type ListingQuery, parseTagTerm, purgePath, tagsOfTerm } from '@svc/cache'
import { Pacer } from '@svc/core'
import type { PageTarget } from './page-target.ts'

/** Selects stored pages: by tag or path, or else all. */
export interface PageSelection {
  /** Labels of the sites. */
  readonly labels: readonly string[]
  /** Tags, which may be in their short forms. */
  readonly tags?: readonly string[] | undefined
  readonly paths?: readonly string[] | undefined
}

/** A stored page. */
interface StoredPage extends PageTarget {
  readonly label: string
}

/** Most pages that are found. */
const MAX_PAGES = 1_000
/** Entries read in one go. */
const SLICE = 100
/** Reads of the store that a selection may cost. */
const MAX_READS = 2_000

/** Finds stored pages, a bounded number of them, without holding up the process. */
export async function storedPages(store: Pick<EntryStore, 'list'>, selection: PageSelection): Promise<StoredPage[]> {
  const found = new Map<string, StoredPage>()
  const pacer = new Pacer()
  let reads = 0
  for (const query of queriesOf(selection)) {
    let at: { readonly cursor?: string } | undefined = {}
    do {
      if (++reads > MAX_READS) return [...found.values()]
      if (pacer.isDue) await pacer.rest()
      const listing = store.list({ ...query, limit: SLICE, ...at })
      for (const { key, facts } of listing.entries) {
        const target = facts.kind === 'response' ? targetOf(key) : undefined
        if (target !== undefined) found.set(key, { label: facts.label, ...target })
        if (found.size === MAX_PAGES) return [...found.values()]
      }
      at = listing.cursor === null ? undefined : { cursor: listing.cursor }
    } while (at !== undefined)
  }
  return [...found.values()]
}

function* queriesOf({ labels, tags, paths }: PageSelection): Generator<Omit<ListingQuery, 'limit'>> {
  const known = new Set(labels)
  for (const text of tags ?? []) {
    const term = parseTagTerm(text, known)
    if (term !== undefined) for (const tag of tagsOfTerm(term, known)) yield { tag }
  }
  for (const text of paths ?? []) {
    const path = purgePath(text)
    if (path !== undefined) for (const label of known) yield { label, path }
  }
  if (tags === undefined && paths === undefined) for (const label of known) yield { label }
}

/** The page of a key. Undefined: the key was too long to be stored whole. */
function targetOf(key: string): PageTarget | undefined {
  const [, path, query, host, ...rest] = key.split('\0')
  if (path === undefined || query === undefined || host === undefined || rest.length > 0) return undefined
  return { path, query: query.slice(1), origin: host === '' ? undefined : host.slice(1) }
}
