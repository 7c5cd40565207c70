import type { CompressionSpec } from './compression-spec.ts'
import type { Template } from './template.ts'

/** How the files of a location are answered, where that is not the usual. */
export interface FileTerms {
  /** `etag` */
  readonly hasEtag: boolean
  /** `if_modified_since`: which dates of a client say that its copy is current; `exact` that of the file alone. */
  readonly ifModifiedSince: 'off' | 'exact' | 'before'
  /** `max_ranges`: more are answered with the whole file; 0: no ranges are offered. undefined: no limit. */
  readonly maxRanges: number | undefined
  /** `gzip_static` and `brotli_static`; undefined: files beside a file are files of their own. */
  readonly precompressed: PrecompressedSpec | undefined
  /** `autoindex`; undefined: directories are not listed. */
  readonly listing: ListingSpec | undefined
  /** `random_index`: any file answers for its directory. */
  readonly hasRandomIndex: boolean
}

/** How directories are listed. */
export interface ListingSpec {
  readonly format: 'html' | 'xml' | 'json' | 'jsonp'
  /** False: rounded to K, M and G. */
  readonly hasExactSize: boolean
  /** True: times are those of the machine's zone. */
  readonly isLocalTime: boolean
}

/** Files that hold others compressed, with `.gz` and `.br` behind their names. */
export interface PrecompressedSpec {
  /** In the order in which they are looked for. `isAlways`: whatever the client accepts. */
  readonly forms: readonly { readonly coding: 'br' | 'gzip'; readonly isAlways: boolean }[]
  /** Terms of `gzip_static on`. */
  readonly terms: CompressionSpec
}

/** `sub_filter`: texts of bodies that are replaced. */
export interface SubFilterSpec {
  /** Without regard to case. */
  readonly pairs: readonly { readonly text: Template; readonly replacement: Template }[]
  /** Media types in lower case, text/html besides; `*`: all. */
  readonly types: readonly string[]
  /** True if each text is replaced once. */
  readonly isOnce: boolean
  /** True if Last-Modified stays, and the ETag becomes weak; else the changed response has none of them. */
  readonly keepsLastModified: boolean
}
