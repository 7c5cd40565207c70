import { join } from 'node:path'
import { type BackoffPolicy, type BackoffState, type Clock, delayMs, noFailures, recordFailure } from '@svc/core'
import { describeExit, type ProcessExit, type RunningHost } from '@svc/processes'
import type { HostEndpoint } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { afterAbort, isQuarantine, nothingApart, type Placement, release } from './placement.ts'

/** A role that one ready host fills. */
interface Place {
  readonly name: string
  readonly sites: readonly string[] | '*'
  host: RunningHost | undefined
  failures: BackoffState
  /** The place stays empty until then, in ms since the epoch, because its host has ended repeatedly. 0: any host may fill it. */
  heldUntil: number
}

export function makePlace(name: string, sites: Place['sites']): Place {
  return { name, sites, host: undefined, failures: noFailures, heldUntil: 0 }
}

/** True if a place serves these sites and no others. */
function servesSame(place: Place, sites: readonly string[]): boolean {
  return place.sites !== '*' && place.sites.join('\n') === sites.join('\n')
}

/**
 * Returns the endpoints for the workers. A place without a host is listed too: otherwise its sites would go to the shared hosts
 * that they must be kept from, and workers would not know that a host is about to start.
 * @param startsAt when the next host is started, in ms since the epoch; 0: one is starting
 */
export function endpointsOf(places: readonly Place[], runDir: string, startsAt: number): HostEndpoint[] {
  return places.map(({ name, sites, host, heldUntil }): HostEndpoint => {
    if (host !== undefined) return { id: host.id, socket: host.socket, token: host.token, sites }
    return { id: name, socket: join(runDir, `${name}.absent`), token: '', sites, startsAt: Math.max(heldUntil, startsAt) }
  })
}

/** Workers report the renders in flight on a dead host when they notice its death: a moment before or after the master does. */
const REPORT_MS = 300

/** The sites that had renders in flight on each host, as evidence when a host dies. */
class InFlightRenders {
  readonly #clock: Clock
  readonly #sites = new Map<string, Set<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Accepts reports for a host from now on. */
  open(hostId: string): void {
    this.#sites.set(hostId, new Set())
  }

  /** Adds sites to the report of a host. Ignored for a host that is not open. */
  note(hostId: string, sites: readonly string[]): void {
    for (const site of sites) this.#sites.get(hostId)?.add(site)
  }

  /** Calls back with the sorted sites, `known` included, once the reports on a dead host have had time to arrive. */
  whenReported(hostId: string, known: readonly string[], onReport: (sites: readonly string[]) => void): void {
    this.#clock.after(REPORT_MS, () => onReport([...new Set([...(this.#sites.get(hostId) ?? []), ...known])].sort()))
  }

  /** Forgets a host that has ended, once late reports have arrived. */
  close(hostId: string): void {
    this.#clock.after(2 * REPORT_MS, () => this.#sites.delete(hostId))
  }
}

/** Options of `Places`. */
interface PlacesOptions {
  /** Hosts that are ready. */
  readonly ready: () => readonly RunningHost[]
  /** The places, or the hosts in them, have changed. */
  readonly onChange: () => void
  readonly backoff: BackoffPolicy
  readonly clock: Clock
  readonly logger: Logger
}

/** Assigns sites to hosts: the shared places, and places of their own for sites that crash their host repeatedly. */
export class Places {
  readonly inFlight: InFlightRenders
  readonly #options: PlacesOptions
  #places: readonly Place[] = []
  #placement: Placement = nothingApart
  #isClosed = false

  constructor(options: PlacesOptions) {
    this.#options = options
    this.inFlight = new InFlightRenders(options.clock)
  }

  get all(): readonly Place[] {
    return this.#places
  }

  get filled(): number {
    return this.#places.filter((place) => place.host !== undefined).length
  }

  /** Sites that have a host of their own because they crash it. */
  get quarantined(): string[] {
    return this.#placement.groups.filter(isQuarantine).flatMap((group) => group.sites)
  }

  of(host: RunningHost | undefined): Place | undefined {
    return host === undefined ? undefined : this.#places.find((place) => place.host === host)
  }

  /** Returns the sites of `siteIds` that a host serves. */
  servedBy(host: RunningHost | undefined, siteIds: readonly string[]): string[] {
    const sites = this.of(host)?.sites ?? []
    if (sites !== '*') return [...sites]
    const apart = new Set(this.#placement.groups.flatMap((group) => group.sites))
    return siteIds.filter((id) => !apart.has(id))
  }

  /** Opens the shared places. They stay: renders may be in flight when the last site goes. */
  open(count: number): void {
    this.#places = Array.from({ length: count }, (_, i) => makePlace(`shared-${i + 1}`, '*'))
  }

  /** Changes no placement from now on. */
  close(): void {
    this.#isClosed = true
  }

  /** Gives every empty place a ready host without a place. */
  fill(): void {
    for (const place of this.#places) {
      if (place.host === undefined && place.heldUntil === 0) place.host = this.#options.ready().find((host) => !this.of(host))
    }
    this.#options.onChange()
  }

  /** Gives the place of a host to its successor, unless that has one already. */
  hand(host: RunningHost, successor: RunningHost): void {
    const place = this.of(host)
    if (place !== undefined) place.host = this.of(successor) === undefined ? successor : undefined
    this.fill()
  }

  /** Fills the place of a host that died, and isolates sites that have crashed several hosts. */
  lost(place: Place, host: RunningHost, exit: ProcessExit): void {
    const { backoff, clock, logger } = this.#options
    const at = clock.monotonic()
    place.host = undefined
    place.failures = recordFailure(place.failures, backoff, at)
    const holdMs = place.sites === '*' ? 0 : delayMs(place.failures, backoff)
    if (holdMs > 0) {
      place.heldUntil = clock.now() + holdMs
      clock.after(holdMs, () => {
        place.heldUntil = 0
        this.fill()
      })
    }
    this.fill()
    const atPing = host.pools.filter((pool) => pool.active > 0).map((pool) => pool.site)
    this.inFlight.whenReported(host.id, atPing, (sites) => {
      const facts = { host: host.id, place: place.name, sites, exit: describeExit(exit) }
      logger.warn(facts, 'lost the renders in flight of a render host')
      this.#apply(afterAbort(this.#placement, { at, place: place.name, sites }))
    })
  }

  /** Drops the state of sites that a reload removed. */
  retain(sites: readonly string[]): void {
    this.#apply(release(this.#placement, this.#options.clock.monotonic(), sites))
  }

  /** Makes the places follow a placement. */
  #apply(next: Placement): void {
    if (this.#isClosed) return
    const before = this.#placement
    this.#placement = next
    for (const group of next.groups) {
      if (before.groups.some((old) => old.name === group.name)) continue
      const alert = isQuarantine(group) ? 'render_site_quarantined' : 'render_sites_suspected'
      this.#options.logger.error({ alert, sites: group.sites }, 'sites that bring down their render host are set apart')
    }
    const shared = this.#places.filter((place) => place.sites === '*')
    const apart = next.groups.map((group) => {
      const old = this.#places.find((place) => place.name === group.name && servesSame(place, group.sites))
      return old ?? makePlace(group.name, group.sites)
    })
    this.#places = [...shared, ...apart]
    this.fill()
  }
}
