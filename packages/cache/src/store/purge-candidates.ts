import type { PurgeScope } from '../purge/purge.ts'
import { coversLabel, globPrefix, tagMatcher, uriTag, withoutTrailingSlash } from '../tags/tags.ts'
import type { Databases } from './databases.ts'
import { hostPathText, ROW, type RowKind, rowKey, rowRange, rowText } from './index-keys.ts'

/** Ids that a scope may be about. */
export interface Candidates {
  readonly ids: readonly Buffer[]
  /** True if the scope matches all of them; otherwise each entry must be checked. */
  readonly isExact: boolean
}

/** Finds the entries of a scope by the index, with work in proportion to the rows that lead to them. */
export function candidatesOf(databases: Databases, scope: PurgeScope): Candidates[] {
  const exactly = (kind: RowKind, texts: readonly string[]) =>
    texts.map((text) => ({ ids: idsOf(databases, rowKey(kind, text)), isExact: true }))
  switch (scope.kind) {
    case 'everything':
      return [{ ids: Array.from(databases.heads.getKeys()), isExact: true }]
    case 'labels':
      return exactly(ROW.label, scope.labels)
    case 'hosts':
      return exactly(ROW.host, scope.hosts)
    case 'tags':
      return exactly(ROW.tag, scope.tags)
    case 'uris':
      return exactly(ROW.tag, scope.uris.map(uriTag))
    case 'pattern':
      return patternCandidates(databases, scope.pattern, scope.labels)
    case 'paths':
      return scope.paths.flatMap((path) => pathCandidates(databases, path, scope.hosts))
    case 'prefixes':
      return scope.hosts.flatMap((host) =>
        scope.prefixes.flatMap((prefix) => rowCandidates(databases, ROW.hostPath, hostPathText(host, prefix))),
      )
  }
}

function idsOf({ index }: Databases, row: Buffer): Buffer[] {
  return Array.from(index.getValues(row))
}

function rowsOf({ index }: Databases, kind: RowKind, prefix: string): Buffer[] {
  return Array.from(index.getKeys(rowRange(kind, prefix)))
}

function rowCandidates(databases: Databases, kind: RowKind, prefix: string): Candidates[] {
  return rowsOf(databases, kind, prefix).map((row) => ({ ids: idsOf(databases, row), isExact: false }))
}

function pathCandidates(databases: Databases, path: string, hosts: readonly string[] | null): Candidates[] {
  if (hosts === null) return rowCandidates(databases, ROW.path, `${withoutTrailingSlash(path)}\0`)
  return hosts.map((host) => ({ ids: idsOf(databases, rowKey(ROW.hostPath, hostPathText(host, path))), isExact: false }))
}

/** A glob is about the tags that it matches, and about all entries of a label when it matches the beginning of its tags. */
function patternCandidates(databases: Databases, pattern: string, labels: readonly string[] | null): Candidates[] {
  const matchesTag = tagMatcher(pattern)
  const isExact = labels === null
  const found: Candidates[] = []
  for (const row of rowsOf(databases, ROW.label, '')) {
    const label = rowText(row)
    if (label === undefined || coversLabel(matchesTag, label)) found.push({ ids: idsOf(databases, row), isExact: false })
  }
  for (const row of rowsOf(databases, ROW.tag, globPrefix(pattern))) {
    const tag = rowText(row)
    if (tag === undefined) found.push({ ids: idsOf(databases, row), isExact: false })
    else if (matchesTag(tag)) found.push({ ids: idsOf(databases, row), isExact })
  }
  return found
}
