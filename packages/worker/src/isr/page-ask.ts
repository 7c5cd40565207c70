import type { RenderRequest } from '@svc/protocol'
import type { RequestContext } from '../pipeline/request-context.ts'
import type { IsrSettings } from './isr-settings.ts'
import type { PageAddress } from './page-address.ts'

/** A render that no client waits for. */
export interface BackgroundRender {
  readonly address: PageAddress
  readonly settings: IsrSettings
  /** Knows of no client. */
  readonly request: RenderRequest
  /** Whether the configuration that it was begun for is still in service. */
  mayBeKept(): boolean
  /** The site has changed since the request was made. */
  onOutdated(): void
}

/** A request for something that may be stored. Made by the stage that matched its route, which also answers what cannot be. */
export interface PageAsk {
  readonly context: RequestContext
  readonly address: PageAddress
  readonly settings: IsrSettings
  /** `shared`: for this client and others, who may want a body where this one does not. */
  requestFor(use: 'own' | 'shared'): RenderRequest
  background(): BackgroundRender
  /** Whether the site, or its configuration, has changed since the route was matched. */
  isOutdated(): boolean
  /** Matches the route anew with what the site is now, and answers the request. */
  matchAgain(): void
  /** Answers the request with a failure; nothing was sent yet. */
  fail(error: Error): void
}
