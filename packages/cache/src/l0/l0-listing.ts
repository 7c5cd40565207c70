import { Pacer } from '@svc/core'
import type { L0Cache } from './l0-cache.ts'
import type { L0Entry, L0Facts } from './l0-entry.ts'

/** Selects entries of L0. */
export interface L0Query {
  /** Labels of sites; undefined: of all. */
  readonly labels?: readonly string[] | undefined
  /** Full tags, of which an entry must have one; undefined: it need not. */
  readonly tags?: readonly string[] | undefined
  /** Prefix of the path. */
  readonly prefix?: string | undefined
  readonly limit: number
  /** Digest of the last entry of the page before; "": from the beginning. */
  readonly after: string
}

interface L0Page<Entry> {
  /** In the order of their digests. */
  readonly entries: readonly Entry[]
  /** Digest up to which there are no others; undefined: there are no others at all. */
  readonly until: string | undefined
}

/** Entries after which the clock is read. */
const STEP = 256

/**
 * Lists entries by their digests. Looks at all entries for each page, a slice of them at a time, and keeps two pages at most. An entry
 * that is there all the time is on exactly one page; one that comes or goes meanwhile on one or none.
 */
export async function listL0<Block, Facts extends L0Facts>(
  cache: L0Cache<Block, Facts>,
  query: L0Query,
): Promise<L0Page<L0Entry<Block, Facts>>> {
  const isWanted = matcherOf(query)
  const pacer = new Pacer()
  const { after, limit } = query
  let found: L0Entry<Block, Facts>[] = []
  let isCut = false
  /** Entries behind this are not on the page: it is full with those before. */
  let last: string | undefined
  let looked = 0
  for (const entry of cache.all()) {
    if (++looked % STEP === 0 && pacer.isDue) await pacer.rest()
    if (entry.digest <= after || (last !== undefined && entry.digest > last) || !isWanted(entry.facts)) continue
    found.push(entry)
    if (found.length < 2 * limit) continue
    found = firstOf(found, limit)
    last = found.at(-1)?.digest
    isCut = true
  }
  isCut ||= found.length > limit
  const entries = firstOf(found, limit)
  // One that was replaced meanwhile is found twice, and one that has gone lies nowhere.
  const present = entries.filter((entry) => entry.shelf !== undefined)
  return { entries: present, until: isCut ? entries.at(-1)?.digest : undefined }
}

function firstOf<Entry extends { readonly digest: string }>(entries: Entry[], limit: number): Entry[] {
  entries.sort((one, other) => {
    if (one.digest === other.digest) return 0
    return one.digest < other.digest ? -1 : 1
  })
  return entries.slice(0, limit)
}

function matcherOf({ labels, tags, prefix }: L0Query): (facts: L0Facts) => boolean {
  const ofLabels = labels === undefined ? undefined : new Set(labels)
  const ofTags = tags === undefined ? undefined : new Set(tags)
  return ({ purgeables }) => {
    const [own] = purgeables
    if (own === undefined || ofLabels?.has(own.label) === false) return false
    if (prefix !== undefined && !own.path.startsWith(prefix)) return false
    return ofTags === undefined || purgeables.some((one) => one.tags.some((tag) => ofTags.has(tag)))
  }
}
