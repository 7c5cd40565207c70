import { join } from 'node:path'
import { type BackoffState, noFailures } from '@svc/core'
import type { HostEndpoint } from '@svc/protocol'
import type { RunningHost } from './host-process.ts'

/** A role that one ready host fills. */
export interface Place {
  readonly name: string
  readonly sites: readonly string[] | '*'
  host: RunningHost | undefined
  failures: BackoffState
  /** While true nothing fills the place: its host has just ended once more. */
  isHeld: boolean
}

export function makePlace(name: string, sites: Place['sites']): Place {
  return { name, sites, host: undefined, failures: noFailures, isHeld: false }
}

/** Whether a place serves these sites and no others. */
export function servesSame(place: Place, sites: readonly string[]): boolean {
  return place.sites !== '*' && place.sites.join('\n') === sites.join('\n')
}

/** Where workers find the hosts of the places. */
export function endpointsOf(places: readonly Place[], runDir: string): HostEndpoint[] {
  return places.flatMap((place): HostEndpoint[] => {
    if (place.host !== undefined)
      return [{ id: place.host.id, socket: place.host.socket, token: place.host.token, sites: place.sites }]
    if (place.sites === '*') return []
    // Named all the same: left out, its sites would go to the shared hosts that they must be kept from.
    return [{ id: place.name, socket: join(runDir, `${place.name}.absent`), token: '', sites: place.sites }]
  })
}

/** The ids of the hosts that render a site: its own where it has one, else those that all others share. */
export function hostsServing(endpoints: readonly HostEndpoint[], site: string): Set<string> {
  const own = endpoints.filter(({ sites }) => sites !== '*' && sites.includes(site))
  const found = own.length > 0 ? own : endpoints.filter(({ sites }) => sites === '*')
  return new Set(found.map(({ id }) => id))
}
