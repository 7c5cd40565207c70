import type { AlertReport, AnalyticsReport, SloStatus } from '@svc/protocol'
import type { ListPage } from './page-loader.ts'

/** A site as `GET sites` lists it. */
export interface SiteFacts {
  readonly id: string
  readonly label: string
  readonly hostnames: readonly string[]
  readonly root: string
  readonly process: string
  readonly tenant: string | null
  readonly state: string
  readonly generation: number
}

interface StoreShare {
  readonly entries: number
  readonly bytes: number
}

/** `GET sites/<id>`. */
export interface SiteDetails extends SiteFacts {
  readonly routes: ReadonlyArray<{
    readonly pattern: string
    readonly kind: string
    readonly file: string
    /** Declared storage of its responses. */
    readonly cache?: { readonly mode: 'never' | 'until_purged' | 'timed'; readonly secs?: number }
  }> | null
  /** The first ones, as of routes and isolates. */
  readonly problems: readonly string[]
  readonly isolates: ReadonlyArray<{
    readonly host: string
    readonly thread: number
    readonly state: string
    readonly started_at: string | null
    readonly last_build_ms: number
    readonly heap_bytes: number | null
    readonly requests: number
  }>
  readonly cache: { readonly isr: StoreShare; readonly proxy: StoreShare }
  /** True if there are more routes, problems or isolates. */
  readonly is_partial: boolean
}

/** `GET sites`. */
export interface SitePage extends ListPage {
  readonly sites: readonly SiteFacts[]
  /** Sites that fit the query. */
  readonly total: number
  /** Sites that the user may read. */
  readonly all: number
}

/** `GET deploys?site=`. */
export interface SiteRelease {
  readonly id: string
  readonly created_at: string
  readonly source: string
  readonly state: string
  readonly live: boolean
}

/** `GET obs/analytics`. */
export interface Analytics extends AnalyticsReport {
  readonly site: string | null
  readonly window: string
}

/** `GET obs/alerts`. */
export type Alert = AlertReport['alerts'][number]

export interface AlertPage extends ListPage {
  readonly evaluated_at: string | null
  readonly alerts: readonly Alert[]
  /** Alerts on all pages. */
  readonly total: number
}

/** `GET obs/slos`. */
export interface SloPage extends ListPage {
  readonly slos: readonly SloStatus[]
}

/** `GET obs/changes`. */
export interface Changes {
  readonly changes: ReadonlyArray<{
    readonly at: string
    readonly kind: string
    readonly site: string | null
    readonly result: 'ok' | 'failed'
  }>
  readonly is_partial: boolean
}

/** `GET health`. */
export interface HealthAnswer {
  readonly status: 'healthy' | 'degraded'
  readonly checks: Readonly<Record<string, string>>
}

export const sitePath = (id: string): string => `/__svc/admin/site?id=${encodeURIComponent(id)}`
