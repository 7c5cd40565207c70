import { EVERYTHING, PURGE_FUNCTION, type PurgeOrder, type PurgeTarget, type SharedScript } from '@svc/cache'
import type { InstanceRedis } from './instance-redis.ts'

/** An order of the stream. */
export interface StreamEntry {
  /** Its place in the stream. */
  readonly at: string
  /** The place of the entry before it; "": it was the first one. */
  readonly after: string
  readonly id: string
  readonly from: string
  /** undefined: it only marks the beginning of a stream. */
  readonly order: PurgeOrder | undefined
}

/** Orders in the stream: an instance that has been away for longer drops its caches. */
const MAX_ORDERS = 10_000
/** Characters of all orders, if they are as long as the last one. */
const MAX_CHARS = 16 << 20
/** Ids, places and names of instances are shorter. */
const MAX_NAME_BYTES = 1_000
/** A purge waits longer for a busy Redis than a request does: to be deferred costs more. */
export const PURGE_DEADLINE_MS = 500

/**
 * KEYS: the stream, versions to raise. ARGV: most entries, id, instance, order ("": none), then for each key of versions the number of
 * digests and the digests (none: the whole label). Each entry names the one before it, so that a reader notices when entries
 * between two reads were trimmed or lost. Works with a full memory too.
 */
const ADD: SharedScript = {
  name: 'svcAddPurge',
  lua: `#!lua flags=allow-oom
${PURGE_FUNCTION}
local at = 5
for i = 2, #KEYS do
  local to = at + tonumber(ARGV[at])
  purge(KEYS[i], at + 1, to)
  at = to + 1
end
mend(KEYS[1], 'stream')
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local fields = {'id', ARGV[2], 'from', ARGV[3], 'after', last[1] and last[1][1] or ''}
if ARGV[4] ~= '' then
  fields[#fields + 1] = 'order'
  fields[#fields + 1] = ARGV[4]
end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(fields))
`,
}

/** The name of the stream of purges. */
export function streamKey(prefix: string): string {
  return `${prefix}purges`
}

/**
 * Adds an order to the stream, or an entry that only marks its beginning. Returns its place. Replaces what is no stream.
 * Rejects if Redis is away.
 * @param targets versions that the order raises in the same step; in a cluster they lie on other nodes than the stream
 */
export async function addToStream(
  redis: Pick<InstanceRedis, 'script'>,
  prefix: string,
  { id, from, order }: Pick<StreamEntry, 'id' | 'from' | 'order'>,
  targets: readonly PurgeTarget[] = [],
): Promise<string> {
  const text = order === undefined ? '' : JSON.stringify(order)
  const most = Math.min(MAX_ORDERS, Math.ceil(MAX_CHARS / Math.max(1, text.length)))
  const keys = [streamKey(prefix), ...targets.map(({ key }) => key)]
  const digests = targets.flatMap(({ digests = [] }) => [String(digests.length), ...digests])
  return String(await redis.script(ADD, keys, [String(most), id, from, text, ...digests], PURGE_DEADLINE_MS))
}

/** The entries of a reply of XREAD with one stream; null: there are none. */
export function entriesOfRead(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return []
  const [stream] = reply as unknown[]
  return Array.isArray(stream) ? entriesOf(stream[1]) : []
}

/** The entries of a reply of XRANGE. */
export function entriesOf(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return []
  return reply.flatMap((entry: unknown) => {
    if (!Array.isArray(entry) || !Array.isArray(entry[1])) return []
    const fields = new Map<string, unknown>()
    const flat: unknown[] = entry[1]
    for (let i = 0; i + 1 < flat.length; i += 2) fields.set(textOf(flat[i], MAX_NAME_BYTES), flat[i + 1])
    const of = (name: string) => textOf(fields.get(name), MAX_NAME_BYTES)
    return [{ at: String(entry[0]), after: of('after'), id: of('id'), from: of('from'), order: orderOf(fields.get('order')) }]
  })
}

/** The later one of two places: they are milliseconds and a count. */
export function laterOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const [ms = 0, count = 0] = a.split('-').map(Number)
  const [otherMs = 0, otherCount = 0] = b.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && count > otherCount) ? a : b
}

/** The text of a bulk reply; "" for one that no instance has written. */
function textOf(value: unknown, maxBytes: number): string {
  return Buffer.isBuffer(value) && value.byteLength <= maxBytes ? value.toString() : ''
}

/** An order as another instance wrote it: an unreadable or too large one is a purge of everything. */
function orderOf(value: unknown): PurgeOrder | undefined {
  if (value === undefined) return undefined
  try {
    const order = JSON.parse(textOf(value, MAX_CHARS)) as PurgeOrder
    if (Array.isArray(order.layers) && Array.isArray(order.scopes)) return order
  } catch {
    // Not JSON.
  }
  return EVERYTHING
}
