import { type L0Cache, type L0Entry, listL0 } from '@svc/cache'
import { type Clock, ReplyWithBytes } from '@svc/core'
import type { ReadyHead } from '@svc/engine'
import type { L0List, L0ListQuery, L0Response } from '@svc/protocol'
import type { L0Admission, WorkerFacts } from '../request/l0-capture.ts'

type Entry = L0Entry<ReadyHead, WorkerFacts>
type Cache = L0Cache<ReadyHead, WorkerFacts>

/** Tags of an entry in a listing; the entry itself shows all. */
const MAX_LISTED_TAGS = 20
/** Text of a page: the entries after it come on the next one. */
const MAX_PAGE_CHARS = 1024 * 1024

/** A page of the responses in L0. */
export async function l0Entries(admission: L0Admission | undefined, query: L0ListQuery): Promise<L0List> {
  if (admission === undefined) return { entries: [] }
  const { cache, clock } = admission
  const { entries, until } = await listL0<ReadyHead, WorkerFacts>(cache, query)
  const listed: L0Response[] = []
  let chars = 0
  for (const entry of entries) {
    const response = responseOf(entry, clock, MAX_LISTED_TAGS)
    chars += charsOf(response)
    if (listed.length > 0 && chars > MAX_PAGE_CHARS) return { entries: listed, until: listed.at(-1)?.digest }
    listed.push(response)
  }
  return { entries: listed, until }
}

/** A response in L0, and the first bytes of its body. */
export function l0Entry(
  admission: L0Admission | undefined,
  { key, maxBytes }: { readonly key: string; readonly maxBytes: number },
): { entry?: L0Response } | ReplyWithBytes<{ entry: L0Response }> {
  const entry = (admission?.cache as Cache | undefined)?.look(key)
  if (admission === undefined || entry === undefined) return {}
  const found = { entry: responseOf(entry, admission.clock, Number.POSITIVE_INFINITY) }
  return maxBytes === 0 ? found : new ReplyWithBytes(found, Buffer.from(entry.body.subarray(0, maxBytes)))
}

function responseOf({ digest, name, key, facts, head, bytes, storedAt, hits }: Entry, clock: Clock, maxTags: number): L0Response {
  const [own] = facts.purgeables
  const [, query = ''] = splitOnce(key.target)
  const sinceEpoch = clock.now() - clock.monotonic()
  return {
    digest,
    key: name,
    label: own?.label ?? '',
    host: own?.host ?? '',
    path: own?.path ?? '',
    query,
    tags: (own?.tags ?? []).slice(0, maxTags),
    status: head.status,
    bytes,
    storedAt: storedAt + sinceEpoch,
    freshUntil: Number.isFinite(facts.expiresAt) ? facts.expiresAt + sinceEpoch : null,
    hits,
  }
}

function splitOnce(target: string): [string, string] {
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

function charsOf({ key, host, path, query, tags }: L0Response): number {
  return key.length + host.length + path.length + query.length + tags.reduce((sum, tag) => sum + tag.length, 0)
}
