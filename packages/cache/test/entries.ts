import { createHash } from 'node:crypto'
import type { EntryFacts, Purge, PurgeOrder, PurgeScope } from '../src/index.ts'
import { responseTags } from '../src/index.ts'

/** Facts of a page of the site `blog`, with what a test says of them. */
export function factsOf(facts: Partial<EntryFacts> & { siteTags?: readonly string[]; pattern?: string } = {}): EntryFacts {
  const { siteTags = [], pattern = '/[slug]', ...rest } = facts
  const { label = 'blog', path = '/hello' } = rest
  return {
    kind: 'response',
    label,
    path,
    host: '',
    isQueryKeyed: false,
    tags: responseTags(label, path, pattern, siteTags),
    createdAt: 1_000_000,
    ttlMs: 60_000,
    swrMs: 3_600_000,
    isMarkedStale: false,
    seq: 0,
    status: 200,
    headers: [['content-type', 'text/html; charset=utf-8']],
    ...rest,
  }
}

/** A body that names its own digest, so that a torn one is told from a whole one. */
export function sealedBody(text: string, bytes: number): Buffer {
  const filled = Buffer.alloc(bytes, `${text};`)
  return Buffer.concat([createHash('sha256').update(filled).digest(), filled])
}

/** True if a sealed body is unchanged. */
export function isWhole(body: Uint8Array): boolean {
  const digest = createHash('sha256').update(body.subarray(32)).digest()
  return digest.equals(body.subarray(0, 32))
}

/** A purge of ISR entries. */
export function purgeOf(number: number, scope: PurgeScope, order: Partial<PurgeOrder> = {}): Purge {
  return { number, layers: ['isr'], scopes: [scope], mode: 'drop', ...order }
}
