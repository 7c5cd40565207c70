import type { FileHandle } from 'node:fs/promises'
import { freshnessOf, ttlLeftMs } from '@svc/cache'
import { type BodyBlocks, BodyBuffer, BodyDelivery, type BodyFile } from '@svc/http'
import type { CacheClient, CacheWord, ProxyStatus, ServedEntry } from './cache-client.ts'
import { type Delivery, deliveryOf, sendPart } from './delivery.ts'

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

function wordOf({ how, isCollapsed }: ServedEntry): CacheWord {
  switch (how) {
    case 'hit':
      return 'HIT'
    case 'stale':
      return isCollapsed ? 'UPDATING' : 'STALE'
    case 'validated':
      return 'REVALIDATED'
    case 'instead':
      return 'STALE'
  }
}

/** Sends a response from an entry whose body is at hand. */
export function sendEntry(client: CacheClient, served: ServedEntry, now: number): void {
  const { body } = served.entry
  sendPart(client, prepare(client, served, body.byteLength, now), body)
}

/** Sends a response from an entry whose body is in a file, and closes that. */
export function sendFile(client: CacheClient, served: ServedEntry, handle: FileHandle, blocks: BodyBlocks, now: number): void {
  const bytes = served.entry.bodyFile?.bytes ?? 0
  const { head, from, to, length } = prepare(client, served, bytes, now)
  const { sink, request } = client
  const file: BodyFile = {
    write: () => false,
    read: async (into, at) => (await handle.read(into, 0, into.byteLength, at)).bytesRead,
    close: () => handle.close().catch(() => undefined),
  }
  const body = BodyBuffer.ofFile(blocks, file, bytes)
  const delivery = new BodyDelivery(body, sink, { from, to: request.method === 'HEAD' ? from : to })
  sink.attach(delivery)
  sink.head(head, length)
  delivery.start()
  body.release()
}

function prepare(client: CacheClient, served: ServedEntry, bytes: number, now: number): Delivery {
  const { entry, key } = served
  const { status, headers, createdAt } = entry
  const delivery = deliveryOf(client.request, { status, headers, createdAt, length: bytes, isStored: true }, now)
  client.context.report(statusOf(served, now), wordOf(served))
  if (delivery.head.status === status && freshnessOf(entry, now) === 'fresh') client.context.offer(entry, key)
  return delivery
}
