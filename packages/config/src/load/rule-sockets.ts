import { type NeededPath, NeededPaths } from '@svc/vhosts'
import type { PlaceOf } from '../checks/unique-names.ts'
import type { Config, RouteRule } from '../schema/types.ts'
import type { KeyPath } from '../values/key-path.ts'

/** Finds the sockets that route rules pass requests to. */
export function ruleSockets({ route_rules: common, sites }: Config, placeOf: PlaceOf): NeededPath[] {
  const needs = new NeededPaths()
  const add = (rules: readonly RouteRule[], path: KeyPath) => {
    for (const [index, { upstream }] of rules.entries()) {
      const socket = /^https?:\/\/unix:([^:]+)/.exec(upstream ?? '')?.[1]
      if (socket !== undefined) needs.add('socket', socket, placeOf([...path, index, 'upstream']))
    }
  }
  add(common, ['route_rules'])
  for (const [index, site] of sites.entries()) add(site.route_rules, ['sites', index, 'route_rules'])
  return needs.all
}
