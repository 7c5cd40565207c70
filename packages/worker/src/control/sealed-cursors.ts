import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Entries, EntryQuery } from '@svc/admin'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The key of cursors; workers with the same secret of tokens have the same. Without a secret no user calls a listing. */
function keyOf(secret: string | undefined): Buffer {
  return secret === undefined
    ? randomBytes(KEY_BYTES)
    : Buffer.from(hkdfSync('sha256', secret, '', 'cursors of listings', KEY_BYTES))
}

/** All that a page has in common with the next one. The labels are those that the caller may see. */
function listingOf({ layer, labels, tag, prefix }: EntryQuery): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([layer, labels, tag, prefix]))
    .digest()
}

function seal(cursor: string, listing: Buffer, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(listing)
  const sealed = Buffer.concat([cipher.update(cursor, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Undefined: it was not sealed for this listing. */
function open(text: string, listing: Buffer, key: Buffer): string | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.byteLength < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(listing).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    // The tag does not fit: another key or listing, or made up.
    return undefined
  }
}

/**
 * Entries whose cursors only their own listing takes. The cursors of the stores are places in an index that all sites share: legible,
 * they would show a tenant paths of other tenants, and made up, they would let it choose where to look.
 * @param secret of tokens; may change. It is asked for at the first listing
 */
export function withSealedCursors(entries: Entries, secret: () => string | undefined): Entries {
  let last: { readonly secret: string | undefined; readonly key: Buffer } | undefined
  const key = () => {
    const current = secret()
    if (last === undefined || current !== last.secret) last = { secret: current, key: keyOf(current) }
    return last.key
  }
  return {
    ...entries,
    async list(query) {
      const listing = listingOf(query)
      const cursor = query.cursor === undefined ? undefined : open(query.cursor, listing, key())
      if (query.cursor !== undefined && cursor === undefined) return undefined
      const page = await entries.list({ ...query, cursor })
      return page && { ...page, cursor: page.cursor === null ? null : seal(page.cursor, listing, key()) }
    },
  }
}
