import { hash } from 'node:crypto'
import type { Purgeable } from '../purge/purge.ts'
import { withoutTrailingSlash } from '../tags/tags.ts'

/** The stores whose entries the instances share. */
export type SharedLayer = 'isr' | 'proxy'

/** The keys in Redis of one entry: in a cluster they lie in one slot, that of the label. */
export interface SharedKeys {
  readonly entry: string
  readonly versions: string
  readonly lock: string
}

/** Keys of a store begin with the label of their site and a NUL. */
export function labelOfKey(key: string): string {
  return key.slice(0, key.indexOf('\0'))
}

/** The key of the versions of a label's purges. */
export function versionsKey(prefix: string, label: string, layer: SharedLayer): string {
  return `${baseOf(prefix, label, layer)}:versions`
}

/** Responses that belong to no site have no label; Redis ignores empty braces. */
function baseOf(prefix: string, label: string, layer: SharedLayer): string {
  return `${prefix}{${label === '' ? ':' : label}}:${layer}`
}

/** @param key of the entry in the store of an instance */
export function sharedKeys(prefix: string, layer: SharedLayer, key: string): SharedKeys {
  const label = labelOfKey(key)
  const base = baseOf(prefix, label, layer)
  const digest = hash('sha256', key, 'base64url')
  return { entry: `${base}:entry:${digest}`, versions: versionsKey(prefix, label, layer), lock: `${base}:lock:${digest}` }
}

const DIGEST_BYTES = 16

/** Digests of tags, each of 16 bytes. */
export function digestOf(tag: string): Buffer {
  return hash('sha256', tag, 'buffer').subarray(0, DIGEST_BYTES)
}

/** The properties of an entry that purges name, as digests in a row. */
export function digestsOf({ tags, host, path }: Purgeable): Buffer {
  const names = new Set(tags)
  if (host !== '') names.add(hostName(host))
  if (path !== '') names.add(pathName(path))
  if (host !== '' && path !== '') names.add(pathName(path, host))
  return Buffer.concat(Array.from(names, digestOf))
}

/** Stands for all entries of a host. No tag begins like it. */
export function hostName(host: string): string {
  return `host:${host}`
}

/** Stands for all entries of a path, on a host or on all. */
export function pathName(path: string, host = ''): string {
  return `path:${host}:${withoutTrailingSlash(path)}`
}
