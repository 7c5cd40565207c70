import { isIP } from 'node:net'
import { parseServerAddress, type ResolverSpec, UpstreamError, type UpstreamGroup, type UpstreamGroups } from '@svc/upstream'

/** The servers that a text made of variables names. Undefined: it names none. */
export function computedGroup(
  groups: UpstreamGroups,
  { host, address, resolver }: { readonly host: string; readonly address: string; readonly resolver: ResolverSpec | undefined },
): UpstreamGroup | UpstreamError | undefined {
  const known = groups.get(host) ?? groups.get(address)
  if (known !== undefined) return known
  const place = parseServerAddress(address)
  if (place === undefined) return undefined
  if (place.kind === 'unix' || isIP(place.host) !== 0) return groups.named(address)
  // As with nginx: the operating system finds only the hosts that a file names, when it is read.
  if (resolver === undefined) return new UpstreamError('UPSTREAM_UNREACHABLE', `no resolver defined to resolve ${place.host}`)
  return groups.named(address, resolver)
}
