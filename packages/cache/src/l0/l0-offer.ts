/** An answer that a stage offers to L0, with what bounds its life. */
export interface L0Offer {
  /** End of freshness, milliseconds of the wall clock; Infinity: until it is purged, or `isCurrent` says no. */
  readonly expiresAt: number
  readonly label: string
  /** Normalised path of what was served, which a rewrite may have made another than that of the request. */
  readonly path: string
  /** Full tags. */
  readonly tags: readonly string[]
  /** Number of the last purge that the maker of the answer knew when it began; undefined: it was made just now. */
  readonly seq?: number
  /** Whether another cookie could have made another answer. */
  readonly dependsOnCookies: boolean
  /** Whether its Cache-Control counts from its creation, as Age does, and so stays as it is. */
  readonly keepsLifetime?: boolean
  /** Looks whether the answer still holds, for what changes without a purge (files). Asked at most once a second. */
  readonly isCurrent?: () => boolean
}
