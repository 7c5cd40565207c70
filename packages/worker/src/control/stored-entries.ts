import type { Entries, EntryQuery, StoredResponse, StoreLayer } from '@svc/admin'
import { type EntryStore, type ListedEntry, type ListingQuery, type ProxyStore, parseTagTerm, tagsOfTerm } from '@svc/cache'
import { Pacer } from '@svc/core'
import type { L0ListQuery, L0Page, L0Response } from '@svc/protocol'

/** L0 of all workers. Rejects if the master is unreachable. */
interface SharedL0 {
  list(query: L0ListQuery): Promise<L0Page>
  /** The response of a key, and the first `maxBytes` of its body. */
  find(key: string, maxBytes: number): Promise<{ readonly entry: L0Response; readonly body: Uint8Array } | undefined>
}

/** Dependencies of `storedEntries`. A store is undefined as long as it is not wanted. */
interface StoredEntriesParts {
  readonly isr: () => EntryStore | undefined
  readonly proxy: () => ProxyStore | undefined
  readonly l0: SharedL0
  /** Labels of all sites. */
  readonly labels: () => readonly string[]
}

/** Entries read in one go. */
const SLICE = 25
/** Reads of the store for one page. */
const MAX_READS = 80
const MAX_CURSOR_CHARS = 64

type Query = Omit<ListingQuery, 'limit' | 'cursor'>

/** The shared stores as this worker reads them, without holding it up. */
export function storedEntries({ isr, proxy, l0, labels: allLabels }: StoredEntriesParts): Entries {
  const storeOf = (layer: StoreLayer) => (layer === 'isr' ? isr() : proxy()?.entries)
  return {
    usage: (labels) => ({ isr: shareOf(isr(), new Set(labels)), proxy: shareOf(proxy()?.entries, new Set(labels)) }),
    async list(query) {
      const { layer } = query
      if (layer === 'l0') return listL0(l0, query, allLabels())
      const store = storeOf(layer)
      if (store === undefined) return { entries: [], cursor: null, missing: [] }
      const { entries, cursor } = await listPage(store, queriesOf(query, allLabels()), query)
      return { entries: entries.map((entry) => responseOf(layer, entry)), cursor, missing: [] }
    },
    async find(layer, key, labels) {
      const found = layer === 'l0' ? await findL0(l0, key) : findStored(storeOf(layer), layer, key)
      return found === undefined || labels?.includes(found.label) === false ? undefined : found
    },
    async body(layer, key, maxBytes) {
      if (layer === 'l0') return (await l0.find(key, maxBytes))?.body
      const entry = storeOf(layer)?.get(key)
      if (entry?.bodyFile === undefined) return entry && Uint8Array.from(entry.body.subarray(0, maxBytes))
      const file = await proxy()?.files.open(entry.bodyFile)
      if (file === undefined) return undefined
      const into = new Uint8Array(Math.min(maxBytes, entry.bodyFile.bytes))
      return file
        .read(into, 0, into.byteLength, 0)
        .then(
          ({ bytesRead }) => into.subarray(0, bytesRead),
          () => undefined,
        )
        .finally(() => file.close())
    },
  }
}

function findStored(store: EntryStore | undefined, layer: StoreLayer, key: string): StoredResponse | undefined {
  const entry = store?.look(key)
  return entry?.facts.kind === 'response' ? responseOf(layer, entry) : undefined
}

async function findL0(l0: SharedL0, key: string): Promise<StoredResponse | undefined> {
  const found = await l0.find(key, 0)
  return found && l0ResponseOf(found.entry)
}

async function listL0(l0: SharedL0, query: EntryQuery, all: readonly string[]): ReturnType<Entries['list']> {
  const { labels, tag, prefix, limit, cursor } = query
  const term = tag === undefined ? undefined : parseTagTerm(tag, new Set(all))
  if (tag !== undefined && term === undefined) return { entries: [], cursor: null, missing: [] }
  const tags = term && tagsOfTerm(term, labels ?? all)
  const wanted = labels && [...labels]
  const page = await l0.list({ labels: wanted, tags, prefix, limit, after: cursor?.slice(0, MAX_CURSOR_CHARS) ?? '' })
  return { entries: page.entries.map(l0ResponseOf), cursor: page.cursor, missing: page.missing }
}

function l0ResponseOf({ digest: _, storedAt, freshUntil, host, query, ...facts }: L0Response): StoredResponse {
  const fresh = textOf(freshUntil)
  return {
    ...facts,
    layer: 'l0',
    host: host === '' ? null : host,
    query,
    uri: undefined,
    stored_at: textOf(storedAt) ?? '',
    fresh_until: fresh,
    stale_until: fresh,
  }
}

function shareOf(store: EntryStore | undefined, labels: ReadonlySet<string>): { entries: number; bytes: number } {
  const share = { entries: 0, bytes: 0 }
  for (const { label, entries, bytes } of store?.room.usages() ?? []) {
    if (!labels.has(label)) continue
    share.entries += entries
    share.bytes += bytes
  }
  return share
}

/** The queries whose results together are the answer, one after the other. */
function queriesOf({ labels, tag, prefix }: EntryQuery, all: readonly string[]): Query[] {
  const narrow = prefix === undefined ? {} : { prefix }
  const term = tag === undefined ? undefined : parseTagTerm(tag, new Set(all))
  if (tag !== undefined && term === undefined) return []
  const allowed = labels ?? (term === undefined ? undefined : all)
  if (allowed === undefined) return [narrow]
  if (term === undefined) return allowed.map((label) => ({ label, ...narrow }))
  return allowed.flatMap((label) => tagsOfTerm(term, [label]).map((full) => ({ tag: full, label, ...narrow })))
}

/** Lists responses of several queries. The cursor is the number of the query and the store's own cursor. */
async function listPage(
  store: Pick<EntryStore, 'list'>,
  queries: readonly Query[],
  { limit, cursor }: Pick<EntryQuery, 'limit' | 'cursor'>,
): Promise<{ entries: ListedEntry[]; cursor: string | null }> {
  const entries: ListedEntry[] = []
  const pacer = new Pacer()
  const [, number = '0', rest = ''] = /^(\d{1,9})\.([\w-]*)$/.exec(cursor ?? '') ?? []
  let index = Number(number)
  let at = rest
  for (let reads = 0; ; reads++) {
    const query = queries[index]
    if (query === undefined) return { entries, cursor: null }
    if (reads === MAX_READS || entries.length === limit) return { entries, cursor: `${index}.${at}` }
    if (pacer.isDue) await pacer.rest()
    const listing = store.list({
      ...query,
      limit: Math.min(SLICE, limit - entries.length),
      ...(at === '' ? {} : { cursor: at }),
    })
    entries.push(...listing.entries.filter(({ facts }) => facts.kind === 'response'))
    at = listing.cursor ?? ''
    if (listing.cursor === null) index++
  }
}

const URI_TAG = 'uri:'

function responseOf(layer: StoreLayer, { key, facts, bytes, hits }: ListedEntry): StoredResponse {
  const { label, host, path, tags, status, createdAt, ttlMs, swrMs, isMarkedStale } = facts
  const uri = layer === 'proxy' ? tags.find((tag) => tag.startsWith(URI_TAG))?.slice(URI_TAG.length) : undefined
  const freshUntil = isMarkedStale ? createdAt : timeAfter(createdAt, ttlMs)
  return {
    layer,
    key,
    label,
    host: host === '' ? null : host,
    path,
    query: layer === 'proxy' ? (uri?.split('?', 2)[1] ?? null) : queryOf(key),
    uri,
    tags: tags.filter((tag) => !tag.startsWith(URI_TAG)),
    status,
    bytes,
    hits,
    stored_at: textOf(createdAt) ?? '',
    fresh_until: textOf(freshUntil),
    stale_until: textOf(timeAfter(createdAt, ttlMs === null ? null : ttlMs + swrMs)),
  }
}

/** The query in the key of a page. */
function queryOf(key: string): string | null {
  const [, , query = ''] = key.split('\0')
  return query.startsWith('?') ? query.slice(1) : null
}

function timeAfter(at: number, ms: number | null): number | null {
  return ms === null ? null : at + ms
}

const LAST_TIME = 8_640_000_000_000_000

function textOf(at: number | null): string | null {
  return at === null || at > LAST_TIME ? null : new Date(at).toISOString()
}
