import { type Caller, decideAccess } from '@svc/auth'
import * as z from 'zod/mini'
import type { ControlPlane, EntryLayer, StoredResponse } from '../contract/control-plane.ts'
import { type EndpointResult, ok } from '../contract/endpoint.ts'
import { requireSite } from '../contract/own-sites.ts'
import { fitting, fittingPage } from '../contract/pages.ts'
import { digits, success, text, urlPath } from '../contract/schemas.ts'
import { AdminError } from '../errors/errors.ts'

/** Longer bodies are cut. */
export const MAX_BODY_BYTES = 1024 * 1024
const MAX_TAG_BYTES = 36 * 1024
const DEFAULT_LIMIT = 100
/** Tags of an entry in a listing; the entry itself shows all. */
const MAX_LISTED_TAGS = 20
const MAX_KEY_CHARS = 16_384
const MAX_SHOWN_KEY_CHARS = 100

const layers = ['isr', 'proxy', 'l0'] as const

export const layer = () => z.enum(layers).check(z.describe('Pages, upstream responses, or the memory of the workers.'))

/** The query of a listing. */
export const listingFields = () =>
  z.strictObject({
    layer: z.optional(layer()),
    site: z.optional(text('Id of a site.')),
    tag: z.optional(text('Tag: `route:<label>:<name>`, or `<name>` on every site.')),
    prefix: z.optional(urlPath('Prefix of the path.')),
    limit: z.optional(digits('Entries on a page; 100 if it is left out.', 1, 500)),
    cursor: z.optional(text('The cursor of the page before.', MAX_KEY_CHARS)),
  })

const entryFields = () => ({
  key: z.string(),
  layer: z.enum(layers),
  site: z.nullable(z.string()),
  host: z.nullable(z.string()),
  path: z.string(),
  query: z.nullable(z.string()),
  tags: z.array(z.string()),
  status: z.int(),
  bytes: z.int(),
  stored_at: z.string(),
  fresh_until: z.nullable(z.string()),
  stale_until: z.nullable(z.string()),
  hits: z.int(),
})

export const listingResponse = () =>
  success({
    entries: z.array(z.object(entryFields())),
    cursor: z.nullable(z.string()),
    is_partial: z.boolean(),
    missing: z.array(z.string()),
  })

export const entryResponse = () =>
  success({
    ...entryFields(),
    tag_count: z.int().check(z.describe('All tags, listed or not: at most 36 KiB of them are.')),
    body: z.optional(z.object({ encoding: z.enum(['utf8', 'base64']), data: z.string(), is_cut: z.boolean() })),
  })

/** The key by which clients name an entry: it says which store holds it. */
function publicKey({ layer: store, key }: StoredResponse): string {
  return Buffer.from(`${store}:${key}`).toString('base64url')
}

function shown(plane: ControlPlane, entry: StoredResponse): Record<string, unknown> {
  const { label, uri: _, ...facts } = entry
  const site = plane.sites.list().find((one) => one.label === label)?.id ?? null
  return { ...facts, key: publicKey(entry), site }
}

export function unknownEntry(key: string): Error {
  return new AdminError('UNKNOWN_ENTRY', { key: key.slice(0, MAX_SHOWN_KEY_CHARS) })
}

/** Finds an entry by the key that clients name. @throws UNKNOWN_ENTRY */
export async function requireEntry({ entries }: ControlPlane, key: string): Promise<StoredResponse> {
  const [, store, own = ''] =
    /^(isr|proxy|l0):(.*)$/s.exec(Buffer.from(key.slice(0, 2 * MAX_KEY_CHARS), 'base64url').toString()) ?? []
  const found = store === undefined ? undefined : await entries.find(store as EntryLayer, own)
  if (found === undefined) throw unknownEntry(key)
  return found
}

/** Answers a page of entries. @throws UNKNOWN_SITE, BAD_CURSOR */
export async function entriesPage(
  plane: ControlPlane,
  query: z.output<ReturnType<typeof listingFields>>,
): Promise<EndpointResult> {
  const { site, layer: store = 'isr', limit = DEFAULT_LIMIT, tag, prefix, cursor: after } = query
  const labels = site === undefined ? undefined : [requireSite(plane.sites, site).label]
  const absent = new Set<string>()
  const { rows, cursor } = await fittingPage(limit, async (fewer) => {
    const page = await plane.entries.list({ layer: store, labels, tag, prefix, limit: fewer, cursor: after })
    if (page === undefined) throw new AdminError('BAD_CURSOR', {})
    for (const worker of page.missing) absent.add(worker)
    const listed = page.entries.map((entry) => shown(plane, { ...entry, tags: entry.tags.slice(0, MAX_LISTED_TAGS) }))
    return { rows: listed, cursor: page.cursor }
  })
  return ok({ entries: rows, cursor, is_partial: absent.size > 0, missing: [...absent] })
}

/** Answers one entry; with its body only those who administer its site. */
export async function entryAnswer(
  plane: ControlPlane,
  entry: StoredResponse,
  wanted: { readonly hasBody: boolean; readonly maxBytes?: number | undefined; readonly caller: Caller },
): Promise<EndpointResult> {
  const tags = fitting(entry.tags, MAX_TAG_BYTES)
  const facts = { ...shown(plane, { ...entry, tags }), tag_count: entry.tags.length }
  if (!wanted.hasBody) return ok(facts)
  if (decideAccess({ access: 'tenant_admin', isForTenants: true }, wanted.caller) !== 'allow') {
    return { problem: { status: 403, code: 'forbidden', detail: 'The body of an entry needs the role tenant_admin.' } }
  }
  const { maxBytes = MAX_BODY_BYTES } = wanted
  const bytes = await plane.entries.body(entry.layer, entry.key, maxBytes + 1)
  if (bytes === undefined) throw unknownEntry(publicKey(entry))
  return ok({ ...facts, body: { ...textOf(bytes.subarray(0, maxBytes)), is_cut: bytes.byteLength > maxBytes } })
}

/** A body as text, or in base64 if it is none, or one that JSON would make longer than that. */
function textOf(bytes: Uint8Array): { readonly encoding: 'utf8' | 'base64'; readonly data: string } {
  const data = Buffer.from(bytes)
  const text = data.toString()
  const isText = Buffer.from(text).equals(data) && JSON.stringify(text).length <= 2 * data.byteLength + 2
  return isText ? { encoding: 'utf8', data: text } : { encoding: 'base64', data: data.toString('base64') }
}
