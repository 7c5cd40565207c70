import { type PurgeOrder, type PurgeScope, parseTagTerm, purgePath, scopeOfPattern, tagsOfTerm } from '@svc/cache'
import { SupervisorError } from '@svc/processes'

function bad(message: string): SupervisorError {
  return new SupervisorError('SUP_BAD_PURGE', message)
}

function resolveTags(tags: readonly string[], labels: ReadonlySet<string>): string[] {
  const full = new Set<string>()
  for (const tag of tags) {
    const term = parseTagTerm(tag, labels)
    if (term === undefined) throw bad(`"${tag}" names no tag`)
    for (const name of tagsOfTerm(term, labels)) full.add(name)
  }
  return [...full]
}

function resolvePath(path: string): string {
  const normal = purgePath(path)
  if (normal === undefined) throw bad(`"${path}" is not a path`)
  return normal
}

/** Returns the host in lower case, without port. */
function resolveHost(host: string): string {
  const url = URL.parse(`http://${host}/`)
  if (url === null || host === '' || /[/?#@\\]/.test(host)) throw bad(`"${host}" is not a host name`)
  return url.hostname.replace(/\.$/, '')
}

function resolveScope(scope: PurgeScope, labels: ReadonlySet<string>): PurgeScope {
  switch (scope.kind) {
    case 'everything':
    case 'labels':
    case 'uris':
      return scope
    case 'hosts':
      return { kind: 'hosts', hosts: scope.hosts.map(resolveHost) }
    case 'tags':
      return { kind: 'tags', tags: resolveTags(scope.tags, labels) }
    case 'pattern':
      return scopeOfPattern(scope.pattern, scope.labels)
    case 'paths':
      return { ...scope, paths: scope.paths.map(resolvePath), hosts: scope.hosts?.map(resolveHost) ?? null }
    case 'prefixes':
      return { ...scope, prefixes: scope.prefixes.map(resolvePath), hosts: scope.hosts.map(resolveHost) }
  }
}

/**
 * Normalizes an order for the comparison with entries: tags in full (`route:<label>:<name>`; the short forms
 * `route:<name>` and `<name>` mean that name on every site that the order may touch), paths as requests have them, hosts in lower case without port.
 * @throws SUP_BAD_PURGE naming the invalid tag, path or host
 */
export function resolveOrder(order: PurgeOrder, labels: Iterable<string>): PurgeOrder {
  const all = [...labels]
  const known = new Set(order.labels === undefined ? all : all.filter((label) => order.labels?.includes(label)))
  return { ...order, scopes: order.scopes.map((scope) => resolveScope(scope, known)) }
}
