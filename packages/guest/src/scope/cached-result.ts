import { parse } from '../context/primordials.ts'
import { callHostOnce, tellHost } from '../host/host-calls.ts'
import { logUncaught } from '../host/site-log.ts'
import { Turns } from '../host/turns.ts'
import { decodeUtf8, encodeUtf8, exactBuffer } from '../prelude/encoding/bytes.ts'
import type { Facts } from '../request/answer.ts'
import { controlFlowOf } from './control-flow.ts'
import { type RequestScope, runCached } from './request-scope.ts'
import { RouterError } from './router-error.ts'

/** One call of a function whose results are kept. */
interface CachedCall {
  /** Parts of the key: file and text of the function, key parts, arguments. */
  readonly parts: readonly string[]
  readonly tags: readonly string[]
  /** Seconds; false: for ever. */
  readonly revalidate: number | false
  readonly compute: () => Promise<unknown>
}

/** The stored form of a result. */
interface KeptResult {
  /** Absent: undefined. */
  readonly value?: unknown
  /** Limits that the function's own fetches add to its options. */
  readonly revalidate?: number | false
}

type Answer =
  | { readonly kind: 'hit'; readonly isStale: boolean; readonly tags: readonly string[] }
  | { readonly kind: 'fill'; readonly fill: number }
  | { readonly kind: 'pass' }

/** Look-ups of an isolate that are with the host at once; the others wait. */
const MAX_RUNNING = 256
/** Look-ups that have begun; more than these are not made, and their results not kept. */
const MAX_BEGUN = 4_096
const turns = new Turns(MAX_RUNNING)
let begun = 0

/** Takes the result from the data cache, or makes it. Tags and times become those of the running request. */
export async function cachedResult(scope: RequestScope, call: CachedCall): Promise<unknown> {
  const { answer, bytes } = await ask(scope, call, 'read')
  switch (answer.kind) {
    case 'hit':
      if (answer.isStale) scope.guest.after(() => refresh(scope, call))
      return take(scope, answer.tags, bytes)
    case 'fill':
      return await makeOrFallBack(scope, call, answer.fill)
    case 'pass':
      return await freshResult(scope, call.compute)
  }
}

/** Makes the result within the running request without looking for it. */
export async function freshResult(scope: RequestScope, compute: () => Promise<unknown>): Promise<unknown> {
  return join(scope, await runCached(scope, compute))
}

async function ask(
  scope: RequestScope,
  { parts, tags, revalidate }: CachedCall,
  mode: 'read' | 'refresh' | 'fallback',
): Promise<{ answer: Answer; bytes: ArrayBuffer }> {
  if (begun >= MAX_BEGUN) return { answer: { kind: 'pass' }, bytes: new ArrayBuffer(0) }
  const question = { requestNumber: scope.guest.number, mode, parts, tags, revalidate }
  begun++
  try {
    const { json, bytes } = await inTurn(() => callHostOnce('data-read', question, undefined))
    return { answer: parse(json) as Answer, bytes }
  } finally {
    begun--
  }
}

function inTurn<T>(task: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const turn = turns.take(() => {
      const done = task()
      done.then(resolve, reject)
      // Never before `take` has returned: this is a later microtask.
      done.then(
        () => turn.end(),
        () => turn.end(),
      )
    })
  })
}

function take(scope: RequestScope, tags: readonly string[], bytes: ArrayBuffer): unknown {
  const { value, revalidate } = parse(decodeUtf8(new Uint8Array(bytes))) as KeptResult
  return join(scope, { value, facts: { tags, revalidate } })
}

/** Makes tags and time of a result those of the running request. */
function join(
  scope: RequestScope,
  { value, facts }: { readonly value: unknown; readonly facts: { tags: Iterable<string>; revalidate: Facts['revalidate'] } },
): unknown {
  scope.facts.addTags(facts.tags)
  if (facts.revalidate !== undefined) scope.facts.limitRevalidate(facts.revalidate)
  return value
}

async function makeOrFallBack(scope: RequestScope, call: CachedCall, fill: number): Promise<unknown> {
  try {
    return join(scope, await make(scope, call, fill))
  } catch (error) {
    // `notFound()` and redirects are answers, not failures.
    if (controlFlowOf(error) !== undefined) throw error
    const { answer, bytes } = await ask(scope, call, 'fallback')
    if (answer.kind !== 'hit') throw error
    logUncaught(error, 'unstable_cache: an older result is used, because the function failed')
    return take(scope, answer.tags, bytes)
  }
}

/** Refreshes a stale result after the response. On failure the stale one stays in use. */
async function refresh(scope: RequestScope, call: CachedCall): Promise<void> {
  const { answer } = await ask(scope, call, 'refresh')
  if (answer.kind === 'fill') await make(scope, call, answer.fill)
}

async function make(scope: RequestScope, { tags, revalidate, compute }: CachedCall, fill: number) {
  try {
    const made = await runCached(scope, compute)
    const kept = made.facts.revalidate
    const body = textOf({ value: made.value, ...(kept === undefined ? {} : { revalidate: kept }) })
    const store = { fill, tags: [...tags, ...made.facts.tags], revalidate: shorter(revalidate, kept) }
    // Only requests for the same result wait for the write.
    callHostOnce('data-store', store, exactBuffer(encodeUtf8(body))).catch((error: unknown) =>
      logUncaught(error, 'unstable_cache: a result could not be stored'),
    )
    return made
  } catch (error) {
    tellHost('data-end', { fill, outcome: 'failed' })
    throw error
  }
}

function textOf(kept: KeptResult): string {
  try {
    return JSON.stringify(kept)
  } catch (error) {
    throw new RouterError(
      'ROUTER_BAD_EXPORT',
      `unstable_cache: the result cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** The shorter of two times; one of 0 is that of something that is not kept by itself. */
function shorter(own: number | false, inner: number | false | undefined): number | false {
  if (inner === undefined || inner === false || inner === 0) return own
  return own === false ? inner : Math.min(own, inner)
}
