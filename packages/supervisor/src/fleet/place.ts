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
  /** Until then nothing fills the place, in ms since the epoch: its host has ended once more. 0: anything may. */
  heldUntil: number
}

export function makePlace(name: string, sites: Place['sites']): Place {
  return { name, sites, host: undefined, failures: noFailures, heldUntil: 0 }
}

/** The sites out of `siteIds` that a place serves. */
export function servedBy({ sites }: Place, siteIds: readonly string[], { groups }: Placement): string[] {
  if (sites !== '*') return [...sites]
  const apart = new Set(groups.flatMap((group) => group.sites))
  return siteIds.filter((id) => !apart.has(id))
}

/** Whether a place serves these sites and no others. */
export function servesSame(place: Place, sites: readonly string[]): boolean {
  return place.sites !== '*' && place.sites.join('\n') === sites.join('\n')
}

/**
 * Where workers find the hosts of the places. A place without a host is named all the same: left out, its sites would go to the
 * shared hosts that they must be kept from, and workers would not know that a host is about to come.
 * @param startsAt when the next host is started, in ms since the epoch; 0: one is starting
 */
export function endpointsOf(places: readonly Place[], runDir: string, startsAt: number): HostEndpoint[] {
  return places.map(({ name, sites, host, heldUntil }): HostEndpoint => {
    if (host !== undefined) return { id: host.id, socket: host.socket, token: host.token, sites }
    return { id: name, socket: join(runDir, `${name}.absent`), token: '', sites, startsAt: Math.max(heldUntil, startsAt) }
  })
}
