import { canonicalAddress, HostMatcher, parseHost } from '@svc/http'

/** Settings for `adminHosts`. */
interface AdminHostPolicy {
  /** `admin.hosts`; undefined: the names of this machine. */
  readonly hosts: readonly string[] | undefined
  /** Returns true if a site claims this host name (lower case, without port), not just gets it for want of another. */
  isSiteHost(hostname: string): boolean
}

/** Loopback names and addresses: no other party controls them, as it may a name in DNS that resolves to this machine. */
function isMachineName(hostname: string): boolean {
  const address = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return hostname === 'localhost' || hostname.endsWith('.localhost') || canonicalAddress(address) !== undefined
}

/**
 * Returns a function that is true for the Host fields of the panel: cookie sessions and pages work there alone, because the scripts of
 * a site on its own host must not act as an administrator.
 */
export function adminHosts({ hosts, isSiteHost }: AdminHostPolicy): (host: string) => boolean {
  const configured = new HostMatcher([{ hostnames: hosts ?? [], isDefault: false, value: true }])
  return (host) => {
    const parsed = parseHost(host)
    if (parsed === 'bad_host') return false
    const { hostname } = parsed
    if (hosts === undefined) return isMachineName(hostname) && !isSiteHost(hostname)
    const match = configured.match(hostname)
    return match !== undefined && match.kind !== 'default'
  }
}
