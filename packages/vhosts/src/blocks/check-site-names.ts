import { formatPlace, type Place } from '../syntax/config-problem.ts'
import type { VhostProblems } from '../syntax/vhost-problems.ts'
import type { SiteDraft } from './site-drafts.ts'

/** A site of the config file. */
export interface TakenSite {
  readonly id: string
  readonly label: string
  readonly place: Place
}

/** Checks that no two sites have one id or label. */
export function checkSiteNames(drafts: readonly SiteDraft[], taken: readonly TakenSite[], problems: VhostProblems): void {
  const ids = new Map(taken.map(({ id, place }) => [id, place]))
  const labels = new Map(taken.map(({ label, place }) => [label, place]))
  for (const { id, label, place } of drafts) {
    const sameId = ids.get(id)
    const sameLabel = labels.get(label)
    if (sameId !== undefined) {
      problems.add(place, `site id "${id}" is already taken at ${formatPlace(sameId)}`, 'set another id with svc_site')
    } else if (sameLabel !== undefined) {
      problems.add(place, `label "${label}" is already taken at ${formatPlace(sameLabel)}`, 'set another label with svc_label')
    }
    ids.set(id, place)
    labels.set(label, place)
  }
}
