import { ReplyWithBytes } from '@svc/core'
import type { L0List, L0ListQuery, L0Page, L0Response } from '@svc/protocol'
import type { MasterParts } from './parts.ts'
import { REPORT, reportsOf } from './worker-reports.ts'

/** A page of the responses in L0 of the workers that answer in time. */
export async function l0EntriesOf(parts: MasterParts, query: L0ListQuery): Promise<L0Page> {
  const { reports, missing } = await reportsOf(parts, ({ peer }) => peer.call('l0Entries', query, REPORT))
  return { ...mergePages(reports, query.limit), missing: [...missing] }
}

/** A response in L0 of the workers that answer in time, and the first bytes of its body. */
export async function l0EntryOf(
  parts: MasterParts,
  lookup: { readonly key: string; readonly maxBytes: number },
): Promise<{ entry?: L0Response } | ReplyWithBytes<{ entry?: L0Response }>> {
  const { reports } = await reportsOf(parts, ({ peer }) => peer.open('l0Entry', lookup, REPORT).reply)
  const entry = reports.flatMap(({ body }) => body.entry ?? []).reduce(merged, undefined)
  if (entry === undefined) return {}
  const bytes = reports.find((report) => report.bytes !== undefined)?.bytes
  return bytes === undefined ? { entry } : new ReplyWithBytes({ entry }, bytes)
}

/** Makes one page of those of the workers: up to where all of them are complete. Pure. */
export function mergePages(pages: readonly L0List[], limit: number): Pick<L0Page, 'entries' | 'cursor'> {
  const horizons = pages.flatMap(({ until }) => until ?? [])
  const horizon = horizons.reduce<string | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  )
  const byDigest = new Map<string, L0Response>()
  for (const entry of pages.flatMap(({ entries }) => entries)) {
    if (horizon === undefined || entry.digest <= horizon) byDigest.set(entry.digest, merged(byDigest.get(entry.digest), entry))
  }
  const digests = [...byDigest.keys()].sort()
  const entries = digests.slice(0, limit).flatMap((digest) => byDigest.get(digest) ?? [])
  const cursor = digests.length > limit ? (entries.at(-1)?.digest ?? null) : (horizon ?? null)
  return { entries, cursor }
}

/** The copies of two workers as one: the facts of the later one, and the hits of both. */
function merged(one: L0Response | undefined, other: L0Response): L0Response {
  if (one === undefined) return other
  return { ...(one.storedAt > other.storedAt ? one : other), hits: one.hits + other.hits }
}
