import type { EntryFacts } from '@svc/cache'

/** Properties of a data entry besides its key and body. */
type DataFacts = Pick<EntryFacts, 'label' | 'tags' | 'createdAt' | 'ttlMs' | 'swrMs' | 'seq' | 'isNewcomer'>

/** The facts of an entry of data: it has no path, no host, and nothing of a response. */
export function dataFacts(facts: DataFacts): EntryFacts {
  return { ...facts, kind: 'data', path: '', host: '', isQueryKeyed: false, isMarkedStale: false, status: 0, headers: [] }
}
