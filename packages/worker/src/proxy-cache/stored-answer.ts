import { freshnessOf, ttlLeftMs } from '@svc/cache'
import { BodyDelivery } from './body-delivery.ts'
import type { CacheClient, ProxyStatus } from './cache-client.ts'
import { type Delivery, deliveryOf } from './delivery.ts'
import type { ServedEntry } from './proxy-parts.ts'
import type { FileBody } from './readable-body.ts'

/** The Cache-Status of a response from the store. */
function statusOf({ entry, how, isCollapsed }: ServedEntry, now: number): ProxyStatus {
  const left = ttlLeftMs(entry, now)
  switch (how) {
    case 'hit':
      return { outcome: 'hit', ttlSeconds: left / 1000 }
    case 'stale':
      return { outcome: 'hit', ttlSeconds: (entry.createdAt + (entry.ttlMs ?? 0) - now) / 1000 }
    case 'validated':
      return { outcome: 'stale', isStored: true, isCollapsed }
    case 'instead':
      return { outcome: 'stale', isCollapsed, detail: 'error' }
  }
}

/** Sends a response from an entry whose body is at hand. */
export function sendEntry(client: CacheClient, served: ServedEntry, now: number): void {
  const { entry } = served
  const { head, from, to, length } = prepare(client, served, entry.body.byteLength, now)
  const { sink, request } = client
  if (request.method !== 'HEAD' && length !== undefined) {
    sink.whole(head, entry.body.subarray(from, to))
    return
  }
  sink.head(head, length)
  if (!client.isGone) sink.end([])
}

/** Sends a response from an entry whose body is in a file. */
export function sendFile(client: CacheClient, served: ServedEntry, body: FileBody, now: number): void {
  const { head, from, to, length } = prepare(client, served, served.entry.bodyFile?.bytes ?? 0, now)
  const { sink, request } = client
  const delivery = new BodyDelivery(body, sink, from, request.method === 'HEAD' ? from : to)
  sink.attach(delivery)
  sink.head(head, length)
  delivery.start()
}

function prepare(client: CacheClient, served: ServedEntry, bytes: number, now: number): Delivery {
  const { entry, key } = served
  const { status, headers, createdAt } = entry
  const delivery = deliveryOf(client.request, { status, headers, createdAt, length: bytes, isStored: true }, now)
  client.context.report(statusOf(served, now))
  if (delivery.head.status === status && freshnessOf(entry, now) === 'fresh') client.context.offer(entry, key)
  return delivery
}
