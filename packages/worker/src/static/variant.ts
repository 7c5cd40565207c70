import { type ContentCoding, contentTypeOf, type HeaderList, isCompressibleType, negotiateEncoding } from '@svc/http'
import type { FileVersion } from './file-source.ts'
import type { PublicRoot } from './public-root.ts'

/** One form of a file that can be sent: as it is, or its precompressed sibling. */
export interface Variant {
  /** Name of the file to send, relative to the root. */
  readonly name: string
  readonly coding: ContentCoding
  readonly version: FileVersion
}

/** A file with all its forms. */
export interface StaticResource {
  /** "": nothing is said of it. */
  readonly contentType: string
  /** undefined: nothing is said of it. */
  readonly cacheControl: string | undefined
  readonly identity: Variant
  /** Precompressed siblings that are there and up to date. */
  readonly compressed: readonly Variant[]
  /** True if the response depends on Accept-Encoding. @default true if there are siblings */
  readonly varies?: boolean
  /** False: no ETag is sent or compared. @default true */
  readonly hasEtag?: boolean
  /** A request for more ranges gets the whole; 0: none are offered. @default no limit of its own */
  readonly maxRanges?: number | undefined
}

const siblings: ReadonlyArray<readonly [suffix: string, coding: ContentCoding]> = [
  ['.br', 'br'],
  ['.zst', 'zstd'],
  ['.gz', 'gzip'],
]

/** By how much a sibling may be older than its file: archives and checkouts write them in any order. */
const SIBLING_SLACK_MS = 2000

/**
 * Looks up a file and its precompressed siblings. A sibling that is older than the file is not used: the file was edited and
 * the sibling forgotten.
 */
export function findResource(root: PublicRoot, name: string, version: FileVersion): StaticResource {
  const contentType = contentTypeOf(name.slice(name.lastIndexOf('/') + 1))
  const identity: Variant = { name, coding: 'identity', version }
  const compressed = isCompressibleType(contentType) ? findSiblings(root, name, version) : []
  return { contentType, cacheControl: cacheControlOf(name), identity, compressed }
}

/** The form for an Accept-Encoding field. */
export function chooseVariant(resource: StaticResource, acceptEncoding: string | undefined): Variant {
  if (resource.compressed.length === 0) return resource.identity
  const coding = negotiateEncoding(
    acceptEncoding,
    resource.compressed.map((variant) => variant.coding),
  )
  return resource.compressed.find((variant) => variant.coding === coding) ?? resource.identity
}

/** Fields that a 200 and a 304 of a form have in common (RFC 9110 section 15.4.5). */
export function validatorFields(resource: StaticResource, variant: Variant, lastModified: string): HeaderList {
  const fields: Array<readonly [string, string]> = resource.hasEtag === false ? [] : [['etag', variant.version.etag]]
  fields.push(['last-modified', lastModified])
  if (resource.cacheControl !== undefined) fields.push(['cache-control', resource.cacheControl])
  if (resource.varies ?? resource.compressed.length > 0) fields.push(['vary', 'Accept-Encoding'])
  return fields
}

/** Fields that describe the content. */
export function contentFields(resource: StaticResource, variant: Variant): HeaderList {
  const type: HeaderList = resource.contentType === '' ? [] : [['content-type', resource.contentType]]
  return variant.coding === 'identity' ? type : [...type, ['content-encoding', variant.coding]]
}

function findSiblings(root: PublicRoot, name: string, version: FileVersion): readonly Variant[] {
  const found: Variant[] = []
  for (const [suffix, coding] of siblings) {
    const sibling = root.find(name + suffix)
    if (sibling === undefined || sibling === 'directory') continue
    if (sibling.lastModifiedMs + SIBLING_SLACK_MS < version.lastModifiedMs) continue
    found.push({ name: name + suffix, coding, version: sibling })
  }
  return found
}

const IMMUTABLE = 'public, max-age=31536000, immutable'
const REVALIDATED = 'public, max-age=0, must-revalidate'

/** `name.<hash>.ext` or `name-<hash>.ext` with 8 to 64 lower-case hexadecimal digits. */
const hexHash = /[.-]([0-9a-f]{8,64})\.[a-z0-9]+(?:\.map)?$/
/** `name.<hash>.ext` with 8 to 64 characters of base64url. */
const base64Hash = /\.([A-Za-z0-9_-]{8,64})\.[a-z0-9]+(?:\.map)?$/

/**
 * Cache-Control of a file by its name: a year for names that carry a hash of their content, otherwise revalidation each time.
 * So that no word and no date passes for a hash, a hexadecimal one must hold a digit and a letter (`app.0a1b2c3d.js`,
 * `app-0a1b2c3d.js`), a base64url one a digit, a capital and a small letter (`app.B3kd_9Zq.js`).
 */
export function cacheControlOf(fileName: string): string {
  return isHashed(fileName) ? IMMUTABLE : REVALIDATED
}

function isHashed(fileName: string): boolean {
  const hex = hexHash.exec(fileName)?.[1]
  if (hex !== undefined && /\d/.test(hex) && /[a-f]/.test(hex)) return true
  const text = base64Hash.exec(fileName)?.[1]
  return text !== undefined && /\d/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text)
}
