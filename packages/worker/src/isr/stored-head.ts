import { ageSeconds, type EntryFacts, type StoredEntry, ttlLeftMs } from '@svc/cache'
import { type HeaderList, parseHttpDate, type ResponseHead, type Validators } from '@svc/http'

/** "For ever" in seconds: a year, as in Next.js. */
const FOREVER_SECONDS = 31_536_000

function fieldOf(headers: HeaderList, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
}

function seconds(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? FOREVER_SECONDS : Math.floor(ms / 1000)
}

/** The Cache-Control of a stored response: browsers ask each time, shared caches may keep it as long as this one does. */
function sharedCacheControl(entry: EntryFacts, now: number): string {
  return `public, max-age=0, s-maxage=${seconds(ttlLeftMs(entry, now))}, stale-while-revalidate=${seconds(swrLeftMs(entry, now))}`
}

/** Milliseconds of its stale time that an entry has left. */
function swrLeftMs({ createdAt, ttlMs, swrMs }: EntryFacts, now: number): number {
  const pastMs = ttlMs === null ? 0 : now - createdAt - ttlMs
  return Math.max(0, swrMs - Math.max(0, pastMs))
}

/** The head of a stored response with the fields that are computed at each delivery. A Cache-Control of the site's own stays. */
export function deliveredHead(entry: StoredEntry, now: number): ResponseHead {
  const headers: (readonly [name: string, value: string])[] = [...entry.headers]
  if (fieldOf(headers, 'cache-control') === undefined) headers.push(['cache-control', sharedCacheControl(entry, now)])
  headers.push(['age', String(ageSeconds(entry, now))])
  return { status: entry.status, headers }
}

/** Validators that conditions of a request are compared with. */
export function validatorsOf(entry: StoredEntry): Validators {
  const lastModified = fieldOf(entry.headers, 'last-modified')
  return {
    etag: fieldOf(entry.headers, 'etag'),
    lastModifiedMs: lastModified === undefined ? undefined : parseHttpDate(lastModified),
  }
}

/** Fields of a response that a 304 repeats (RFC 9110 section 15.4.5), and Age. */
const REPEATED: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'content-location',
  'etag',
  'expires',
  'last-modified',
  'vary',
])

/** The head of the 304 that stands for a delivered head. */
export function notModifiedHead(head: ResponseHead): ResponseHead {
  return { status: 304, headers: head.headers.filter(([name]) => REPEATED.has(name.toLowerCase())) }
}
