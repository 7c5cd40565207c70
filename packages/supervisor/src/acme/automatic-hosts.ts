import { isIP } from 'node:net'
import { certificateNames, coversName } from '@svc/config'
import type { CertificateParts } from '../tls/certificates.ts'

/** True if an authority issues a certificate for a name after a proof over HTTP: false for wildcards and local names. */
function canBeProved(name: string): boolean {
  return !name.startsWith('*') && name.includes('.') && !name.endsWith('.localhost') && isIP(name) === 0
}

/** Returns the host names that need an automatic certificate: exact names that no configured certificate covers. */
export function automaticHosts({ config, web, certificates }: CertificateParts): string[] {
  if (!config.tls.auto) return []
  const ofSites = config.sites.filter(({ tls_cert: own }) => own === undefined).flatMap(({ hostnames }) => hostnames)
  const ofApps = config.apps.map(({ hostname }) => hostname)
  const ofServers = web.servers
    .filter(({ certificate, listen }) => certificate === undefined && listen.some(({ isTls }) => isTls))
    .flatMap(({ names }) => names.flatMap(certificateNames))
  const hosts = new Set([...ofSites, ...ofApps, ...ofServers].filter(canBeProved))
  return [...hosts].filter((host) => !certificates.some(({ names }) => coversName(names, host))).sort()
}
