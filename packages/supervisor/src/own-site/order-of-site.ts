import type { PurgeOrder, PurgeScope } from '@svc/cache'
import { SupervisorError } from '@svc/processes'

/**
 * Checks that a purge order of a site's unit concerns that site alone: the host has bound the names in the site's code to its
 * label, and no other process checks that.
 * @throws SUP_UNIT_REFUSED
 */
export function orderOfSite(order: PurgeOrder, label: string): PurgeOrder {
  const isOwn = (scope: PurgeScope) => {
    if (scope.kind === 'tags') return scope.tags.every((tag) => tag.startsWith(`route:${label}:`))
    return scope.kind === 'pattern' && scope.labels?.length === 1 && scope.labels[0] === label
  }
  if (order.layers.every((layer) => layer === 'isr') && order.scopes.every(isOwn)) return order
  throw new SupervisorError('SUP_UNIT_REFUSED', `a unit of the site labelled "${label}" may purge that site alone`)
}
