import { AdminError } from '../errors/errors.ts'
import type { SiteSummary, Sites } from './control-plane.ts'

/** Returns the site of an id. @throws UNKNOWN_SITE */
export function requireSite(sites: Pick<Sites, 'list'>, id: string): SiteSummary {
  const site = sites.list().find((one) => one.id === id)
  if (site === undefined) throw new AdminError('UNKNOWN_SITE', { site: id })
  return site
}

/** Ids of the tenant's sites among those that are asked for. */
export function ownAmong(own: Sites, wanted: readonly string[] | undefined): string[] {
  const ids = own.list().map(({ id }) => id)
  return ids.filter((id) => wanted?.includes(id) ?? true)
}

/** An operation that only those who administer the whole instance may do. */
export function forbidden(operation: string): () => Promise<never> {
  return async () => {
    throw new AdminError('NOT_FOR_TENANTS', { operation })
  }
}
