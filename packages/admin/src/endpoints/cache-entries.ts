import { type Caller, decideAccess } from '@svc/auth'
import * as z from 'zod/mini'
import type { ControlPlane, EntryLayer, StoredResponse } from '../contract/control-plane.ts'
import { type EndpointResult, ok } from '../contract/endpoint.ts'
import { requireSite } from '../contract/own-sites.ts'
import { digits, success, text, urlPath } from '../contract/schemas.ts'
import { AdminError } from '../errors/errors.ts'

/** Longer bodies are cut. */
const MAX_BODY_BYTES = 1024 * 1024
const DEFAULT_LIMIT = 100
/** Tags of an entry in a listing; the entry itself shows all. */
const MAX_LISTED_TAGS = 20
const MAX_KEY_CHARS = 16_384
const MAX_SHOWN_KEY_CHARS = 100

const layers = ['isr', 'proxy', 'l0'] as const

const OF_STORE = /^\d{1,9}\.[\w-]*$/
/** Forms of the cursors of each layer. */
const CURSORS: Readonly<Record<EntryLayer, RegExp>> = { isr: OF_STORE, proxy: OF_STORE, l0: /^[\w-]+$/ }

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
  // One that no page has had must not look like the first page.
  if (after !== undefined && !CURSORS[store].test(after)) throw new AdminError('BAD_CURSOR', {})
  const labels = site === undefined ? undefined : [requireSite(plane.sites, site).label]
  const { entries, cursor, missing } = await plane.entries.list({ layer: store, labels, tag, prefix, limit, cursor: after })
  const listed = entries.map((entry) => shown(plane, { ...entry, tags: entry.tags.slice(0, MAX_LISTED_TAGS) }))
  return ok({ entries: listed, cursor, is_partial: missing.length > 0, missing })
}

/** Answers one entry; with its body only those who administer its site. */
export async function entryAnswer(
  plane: ControlPlane,
  entry: StoredResponse,
  wanted: { readonly hasBody: boolean; readonly caller: Caller },
): Promise<EndpointResult> {
  if (!wanted.hasBody) return ok(shown(plane, entry))
  if (decideAccess({ access: 'tenant_admin', isForTenants: true }, wanted.caller) !== 'allow') {
    return { problem: { status: 403, code: 'forbidden', detail: 'The body of an entry needs the role tenant_admin.' } }
  }
  const bytes = await plane.entries.body(entry.layer, entry.key, MAX_BODY_BYTES + 1)
  if (bytes === undefined) throw unknownEntry(publicKey(entry))
  const data = Buffer.from(bytes.subarray(0, MAX_BODY_BYTES))
  const encoding = Buffer.from(data.toString()).equals(data) ? 'utf8' : 'base64'
  const body = { encoding, data: data.toString(encoding), is_cut: bytes.byteLength > MAX_BODY_BYTES }
  return ok({ ...shown(plane, entry), body })
}
