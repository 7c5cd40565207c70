import { join } from 'node:path'
import { type BackoffState, noFailures } from '@svc/core'
import type { RunningHost } from '@svc/processes'
import type { HostEndpoint } from '@svc/protocol'
import type { Placement } from './placement.ts'

/** A role that one ready host fills. */
export interface Place {
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

/** Returns the sites of `siteIds` that a place serves. */
export function servedBy({ sites }: Place, siteIds: readonly string[], { groups }: Placement): string[] {
  if (sites !== '*') return [...sites]
  const apart = new Set(groups.flatMap((group) => group.sites))
  return siteIds.filter((id) => !apart.has(id))
}

/** True if a place serves these sites and no others. */
export function servesSame(place: Place, sites: readonly string[]): boolean {
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
