import type { PurgeOrder, PurgeScope } from '@svc/cache'

/** The labels that a scope can be about; undefined: any. */
function labelsOfScope(scope: PurgeScope): readonly string[] | undefined {
  switch (scope.kind) {
    case 'labels':
      return scope.labels
    case 'pattern':
      return scope.labels ?? undefined
    case 'tags':
      // `route:<label>:<name>`; no label holds a colon.
      return scope.tags.map((tag) => tag.split(':', 2)[1] ?? '')
    case 'everything':
    case 'hosts':
    case 'paths':
    case 'prefixes':
    case 'uris':
      return undefined
  }
}

/** The labels whose stored responses a purge can be about; undefined: any. A purge of other layers is about none. */
export function labelsOf({ layers, scopes }: PurgeOrder): ReadonlySet<string> | undefined {
  const labels = new Set<string>()
  if (!layers.includes('isr')) return labels
  for (const scope of scopes) {
    const own = labelsOfScope(scope)
    if (own === undefined) return undefined
    for (const label of own) labels.add(label)
  }
  return labels
}
