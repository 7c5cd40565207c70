import type { Config } from '@svc/config'
import type { RenderRequest } from '@svc/protocol'
import type { RequestContext } from '../request/request-context.ts'
import type { PageAddress } from './page-address.ts'
import type { DefaultLifetime } from './storability.ts'

const MAX_STORED_BYTES = 16 * 1024 * 1024
/** No response takes a larger part of the store than this. */
const MAX_SHARE = 0.25

/** The settings that a request for a page is answered by. */
export interface IsrSettings extends DefaultLifetime {
  /** How long a request waits for the render of another. */
  readonly waitMs: number
  /** A larger response is not stored. */
  readonly maxBodyBytes: number
}

/** A render that no client waits for. */
export interface BackgroundRender {
  readonly address: PageAddress
  readonly settings: IsrSettings
  /** Knows of no client. */
  readonly request: RenderRequest
  /** True if the configuration that it started with is still in service. */
  mayBeKept(): boolean
  /** The site has changed since the request was made. */
  onOutdated(): void
}

/** A request for a page that may be stored. The stage that matched its route makes it, and answers it where it cannot be stored. */
export interface PageRequest {
  readonly context: RequestContext
  readonly address: PageAddress
  readonly settings: IsrSettings
  /** `shared`: for this client and others, which may want a body where this one does not. */
  requestFor(use: 'own' | 'shared'): RenderRequest
  background(): BackgroundRender
  /** True if the site, or its configuration, has changed since the route was matched. */
  isOutdated(): boolean
  /** Matches the route again with the present site, and answers the request. */
  matchAgain(): void
  /** Answers the request with a failure; nothing was sent yet. */
  fail(error: Error): void
}

/** Takes the settings from a configuration. */
export function settingsOf({ cache, render }: Config): IsrSettings {
  const { default_swr_ms, default_ttl_ms, max_bytes } = cache.isr
  return {
    ttlMs: default_ttl_ms,
    swrMs: default_swr_ms,
    waitMs: render.timeout_ms,
    maxBodyBytes: Math.min(MAX_STORED_BYTES, Math.floor(max_bytes * MAX_SHARE)),
  }
}
