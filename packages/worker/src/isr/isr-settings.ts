import type { Config } from '@svc/config'
import type { DefaultLifetime } from './storability.ts'

/** What of the configuration the answers of a request depend on. */
export interface IsrSettings extends DefaultLifetime {
  /** How long a request waits for another's render. */
  readonly waitMs: number
  /** A larger response is not stored. */
  readonly maxBodyBytes: number
}

const MAX_STORED_BYTES = 16 * 1024 * 1024
/** No response takes more of the store than this part. */
const MAX_SHARE = 0.25

/** The settings of a configuration. */
export function settingsOf({ cache, render }: Config): IsrSettings {
  const { default_swr_ms, default_ttl_ms, max_bytes } = cache.isr
  return {
    ttlMs: default_ttl_ms,
    swrMs: default_swr_ms,
    waitMs: render.timeout_ms,
    maxBodyBytes: Math.min(MAX_STORED_BYTES, Math.floor(max_bytes * MAX_SHARE)),
  }
}
