import { formatPlace, type Place, plainHostnames, type WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import type { Finding } from '../values/finding.ts'
import { formatPath } from '../values/key-path.ts'
import { type CertificateFile, type CertificateFiles, certificateKey } from './read-certificate.ts'

/** A place of the configuration that names a certificate. */
export interface CertificateUse extends CertificateFiles {
  /** Host names that it is meant for there; []: those in the certificate itself. */
  readonly names: readonly string[]
  /** The place that names each file: a key of the configuration, or a place of a vhost file. */
  readonly at: Readonly<Record<CertificateFile, Finding['path'] | Place>>
}

/** Returns true if it is of a vhost file. */
export function isPlace(at: Finding['path'] | Place): at is Place {
  return 'line' in at
}

function usesOfConfig({ tls, sites }: Config): CertificateUse[] {
  const global = tls.certs.map(({ cert, key }, index) => ({
    cert,
    key,
    names: [],
    at: { cert: ['tls', 'certs', index, 'cert'], key: ['tls', 'certs', index, 'key'] },
  }))
  const own = sites.flatMap((site, index) => {
    const { tls_cert: cert, tls_key: key } = site
    if (cert === undefined || key === undefined) return []
    const at = { cert: ['sites', index, 'tls_cert'], key: ['sites', index, 'tls_key'] }
    return [{ cert, key, names: [...site.hostnames], at }]
  })
  return [...global, ...own]
}

function usesOfServers({ servers }: WebSpec): CertificateUse[] {
  return servers.flatMap(({ certificates, listen, names }) => {
    if (!listen.some(({ isTls }) => isTls)) return []
    return certificates.map((certificate) => ({ ...certificate, names: names.flatMap(plainHostnames) }))
  })
}

/** Every place that names a certificate. */
export function certificateUses(config: Config, web: WebSpec): CertificateUse[] {
  return [...usesOfConfig(config), ...usesOfServers(web)]
}

/** Returns the first place that names each pair of files, for display, by `certificateKey`. */
export function certificatePlaces(config: Config, web: WebSpec): ReadonlyMap<string, string> {
  const places = certificateUses(config, web).map((use): [string, string] => {
    const { cert: at } = use.at
    return [certificateKey(use), isPlace(at) ? formatPlace(at) : formatPath(at)]
  })
  return new Map(places.reverse())
}
