/** The entries that a purge covers. Hosts are lower case without port; paths are normalised; tags are full: `route:<label>:<name>`. */
export type PurgeScope =
  | { readonly kind: 'everything' }
  /** Whole sites. */
  | { readonly kind: 'labels'; readonly labels: readonly string[] }
  | { readonly kind: 'hosts'; readonly hosts: readonly string[] }
  | { readonly kind: 'tags'; readonly tags: readonly string[] }
  /** A glob over tags (`*` any run of characters, `\*` a star), for these labels only; null: for all. */
  | { readonly kind: 'pattern'; readonly pattern: string; readonly labels: readonly string[] | null }
  /** All queries and encodings of these paths, on these hosts; null: on all. */
  | { readonly kind: 'paths'; readonly paths: readonly string[]; readonly hosts: readonly string[] | null }
  /** All paths that begin like this, on these hosts. */
  | { readonly kind: 'prefixes'; readonly prefixes: readonly string[]; readonly hosts: readonly string[] }
  /** Entries of the proxy cache for these URIs, absolute and normalised. */
  | { readonly kind: 'uris'; readonly uris: readonly string[] }

/** The layers that a purge covers. Entries made from an entry of a deeper layer go with it: `isr` and `proxy` include `l0`. */
export type PurgeLayer = 'l0' | 'isr' | 'proxy'

/** A purge as it is requested; the master turns it into a purge by giving it a number. */
export interface PurgeOrder {
  readonly layers: readonly PurgeLayer[]
  /** An entry is taken when any of these matches it. */
  readonly scopes: readonly PurgeScope[]
  /** `drop`: gone. `stale`: ISR entries are served once more while they are re-rendered; L0 entries are dropped all the same. */
  readonly mode: 'drop' | 'stale'
  /** Only entries of these labels are taken, whatever the scopes name; undefined: of all. It bounds a purge to the sites of a tenant. */
  readonly labels?: readonly string[] | undefined
  /** Labels whose code has changed: the recorded request inputs of their pages are outdated. */
  readonly changedCode?: readonly string[]
  /** As long as it is not settled, the cache that the instances share must not be used: another purge has not reached it. */
  readonly closesSharedCache?: boolean
}

/** Takes all entries of all layers. */
export const EVERYTHING: PurgeOrder = { layers: ['isr', 'proxy'], scopes: [{ kind: 'everything' }], mode: 'drop' }

/** An order with its place in the order of all purges of this instance. Numbers only grow, over restarts too. */
export interface Purge extends PurgeOrder {
  readonly number: number
}

/** State of the purges of an instance, for a process that joins. */
export interface PurgeState {
  /** Number of the last purge. */
  readonly last: number
  /** Purges whose entries may still be found in the shared stores. */
  readonly unsettled: readonly Purge[]
}

/** The properties of an entry, or of a fill in flight, that a purge can match. */
export interface Purgeable {
  readonly label: string
  /** "" when the entry is not bound to a host. */
  readonly host: string
  /** Normalised path, "" for data of site code. */
  readonly path: string
  /** Full tags, with those of the path and the route pattern. */
  readonly tags: readonly string[]
}
