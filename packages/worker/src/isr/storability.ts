import { MAX_ENTRY_TAGS, type Variance } from '@svc/cache'
import { type HeaderList, parseCacheControl } from '@svc/http'
import type { CacheFacts } from '@svc/protocol'
import type { PageAddress } from './page-address.ts'

/** Properties of a finished response. */
interface MadeResponse {
  readonly status: number
  readonly headers: HeaderList
  /** undefined: the render gave no cache settings. */
  readonly facts: CacheFacts | undefined
}

/** How long responses live that do not say. */
export interface DefaultLifetime {
  readonly ttlMs: number
  readonly swrMs: number
}

/** Says if a response may be stored and shared, and if not, why. */
export type Storability =
  | { readonly verdict: 'store'; readonly ttlMs: number | null; readonly swrMs: number; readonly reads: Variance }
  /** It is for this request alone, and the next one's will be too. `detail`: a word for people. */
  | { readonly verdict: 'pass'; readonly detail: string }
  /**
   * It tells of a failure: nothing is known of the next one. `isCommon`: it holds nothing of its request, so that those who
   * wait for it may get it too.
   */
  | { readonly verdict: 'failed'; readonly detail: string; readonly isCommon: boolean }

/** Statuses that mean the same for every client: those of RFC 9110 section 15.1, and temporary redirects. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([200, 203, 204, 301, 302, 303, 307, 308, 404, 410])

/** Request inputs of a page that no key holds. */
const PERSONAL_READS = ['cookies', 'headers', 'no-store'] as const

function fieldValues(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
}

/** Why the head of a response forbids keeping it, or undefined. Known before the body has come. */
export function refusalOfHead(status: number, headers: HeaderList): string | undefined {
  if (!KEPT_STATUSES.has(status)) return 'status'
  if (fieldValues(headers, 'set-cookie').length > 0) return 'set-cookie'
  const vary = fieldValues(headers, 'vary').flatMap((value) => value.split(','))
  if (vary.some((member) => member.trim() !== '' && member.trim().toLowerCase() !== 'accept-encoding')) return 'vary'
  const { isPrivate, noStore, noCache } = parseCacheControl(fieldValues(headers, 'cache-control').join(', '))
  return isPrivate || noStore || noCache ? 'cache-control' : undefined
}

/** Decides if a response may be stored, and for how long. Pure. */
export function storabilityOf(response: MadeResponse, address: PageAddress, defaults: DefaultLifetime): Storability {
  const { status, facts } = response
  if (status >= 500) return { verdict: 'failed', detail: 'status', isCommon: facts !== undefined && facts.reads.length === 0 }
  const refusal = refusalOfHead(status, response.headers)
  if (refusal !== undefined) return { verdict: 'pass', detail: refusal }
  if (facts === undefined) return { verdict: 'pass', detail: 'facts' }
  const personal = PERSONAL_READS.find((read) => facts.reads.includes(read))
  if (personal !== undefined) return { verdict: 'pass', detail: personal }
  if (facts.tags.length > MAX_ENTRY_TAGS) return { verdict: 'pass', detail: 'tags' }
  const reads = { query: facts.reads.includes('query'), host: facts.reads.includes('host') }
  // A client that sends a made-up host would decide which address the page gives as its own.
  if (reads.host && address.binding === 'unknown') return { verdict: 'pass', detail: 'host' }
  return withLifetime(facts.revalidate, address, defaults, reads)
}

function withLifetime(
  revalidate: number | false | undefined,
  { kind }: PageAddress,
  defaults: DefaultLifetime,
  reads: Variance,
): Storability {
  if (kind === 'handler' && revalidate === undefined) return { verdict: 'pass', detail: 'revalidate' }
  const ttlMs = revalidate === undefined ? defaults.ttlMs : revalidate === false ? null : revalidate * 1000
  if (ttlMs === 0) return { verdict: 'pass', detail: 'revalidate' }
  return { verdict: 'store', ttlMs, swrMs: defaults.swrMs, reads }
}
