import { type Clock, LeakyBuckets, tableEntryBytes } from '@svc/core'
import type { ConnectionOrder, ConnectionReply, GenerationSpec, RequestLimitOrder, RequestLimitReply } from '@svc/protocol'

type ZoneSpec = GenerationSpec['web']['limitZones'][number]

/** A zone of `limit_req_zone`. */
interface RequestZone {
  rate: number
  readonly buckets: LeakyBuckets
}

/** A zone of `limit_conn_zone`. */
interface ConnectionZone {
  maxBytes: number
  bytes: number
  readonly counts: Map<string, number>
}

/** A request that counts in some zones. */
type Hold = readonly { readonly zone: ConnectionZone; readonly key: string }[]

const unknown: RequestLimitReply = { refusedBy: -2, excess: 0, delayMs: 0 }

/** The zones of `limit_req` and `limit_conn`: one count for all workers of the instance, over reloads. */
export class LimitZones {
  readonly #specs: () => readonly ZoneSpec[]
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #requests = new Map<string, RequestZone>()
  readonly #connections = new Map<string, ConnectionZone>()
  readonly #holds = new Map<object, Map<number, Hold>>()
  #served: readonly ZoneSpec[] | undefined

  constructor(specs: () => readonly ZoneSpec[], clock: Pick<Clock, 'monotonic'>) {
    this.#specs = specs
    this.#clock = clock
  }

  /** Decides on a request: every limit counts it, or none. */
  admit(limits: RequestLimitOrder): RequestLimitReply {
    this.#follow()
    const now = Math.floor(this.#clock.monotonic())
    const found = limits.map((limit) => ({ ...limit, of: this.#requests.get(limit.zone), excess: 0 }))
    for (const [index, limit] of found.entries()) {
      if (limit.of === undefined) return unknown
      limit.excess = limit.of.buckets.excessOf(limit.key, limit.of.rate, now)
      if (limit.excess > limit.burst) return { refusedBy: index, excess: limit.excess, delayMs: 0 }
    }
    let delayMs = 0
    for (const { of, key, delay, excess } of found) {
      if (of === undefined) continue
      of.buckets.count(key, excess, now)
      if (excess > delay) delayMs = Math.max(delayMs, Math.floor(((excess - delay) * 1000) / of.rate))
    }
    return { refusedBy: -1, excess: 0, delayMs }
  }

  /** Counts a request in progress: in each of its zones, or in none. */
  begin(connection: object, { id, limits }: ConnectionOrder): ConnectionReply {
    this.#follow()
    const hold: { zone: ConnectionZone; key: string }[] = []
    for (const { zone: name, key, max } of limits) {
      const zone = this.#connections.get(name)
      const isCounted = zone !== undefined && countIn(zone, key, max)
      if (!isCounted) {
        release(hold)
        return zone === undefined ? 'unknown' : 'refused'
      }
      hold.push({ zone, key })
    }
    const own = this.#holds.get(connection) ?? new Map<number, Hold>()
    own.set(id, hold)
    this.#holds.set(connection, own)
    return 'counted'
  }

  end(connection: object, ids: readonly number[]): void {
    const own = this.#holds.get(connection)
    for (const id of ids) {
      release(own?.get(id) ?? [])
      own?.delete(id)
    }
  }

  /** A worker has ended, and with it all its requests. */
  holderEnded(connection: object): void {
    for (const hold of this.#holds.get(connection)?.values() ?? []) release(hold)
    this.#holds.delete(connection)
  }

  /** Zones that stay keep their counts. */
  #follow(): void {
    const specs = this.#specs()
    if (specs === this.#served) return
    this.#served = specs
    const ids = new Set(specs.map(({ id }) => id))
    for (const zones of [this.#requests, this.#connections]) for (const id of zones.keys()) if (!ids.has(id)) zones.delete(id)
    for (const { id, maxBytes, rate } of specs) {
      if (rate === undefined) {
        const known = this.#connections.get(id)
        if (known === undefined) this.#connections.set(id, { maxBytes, bytes: 0, counts: new Map() })
        else known.maxBytes = maxBytes
        continue
      }
      const known = this.#requests.get(id)
      if (known === undefined) this.#requests.set(id, { rate, buckets: new LeakyBuckets(maxBytes) })
      else {
        known.rate = rate
        known.buckets.resize(maxBytes)
      }
    }
  }
}

/** False: the limit is reached, or the zone has no more room. */
function countIn(zone: ConnectionZone, key: string, max: number): boolean {
  const count = zone.counts.get(key) ?? 0
  if (count >= max) return false
  if (count === 0) {
    if (zone.bytes + tableEntryBytes(key) > zone.maxBytes) return false
    zone.bytes += tableEntryBytes(key)
  }
  zone.counts.set(key, count + 1)
  return true
}

function release(hold: Hold): void {
  for (const { zone, key } of hold) {
    const count = zone.counts.get(key) ?? 0
    if (count > 1) zone.counts.set(key, count - 1)
    else if (zone.counts.delete(key)) zone.bytes -= tableEntryBytes(key)
  }
}
