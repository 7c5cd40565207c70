import {
  type Config,
  certificateKey,
  defaultServer,
  type LoadedCertificate,
  plainHostnames,
  type ServerSpec,
  type WebSpec,
} from '@svc/config'
import type { ListenAddress, ListenerTls } from '@svc/protocol'

/** Sources of the certificate for a name. */
export interface CertificateSources {
  readonly config: Config
  readonly web: WebSpec
  /** Certificates of files. */
  readonly certificates: readonly LoadedCertificate[]
  /** Automatic ones. */
  readonly automatic: readonly LoadedCertificate[]
  /** For clients that request a name without certificate, if there is no other. */
  readonly placeholder: LoadedCertificate | undefined
}

/** The certificates of a listen address, by id in `names` and `fallback`. */
export interface ChosenCertificates {
  readonly certificates: readonly LoadedCertificate[]
  readonly names: ListenerTls['names']
  readonly fallback: string
  readonly minVersion: ListenerTls['minVersion']
}

/** Collects names; the first entry of a name wins. */
class NameTable {
  readonly #names = new Map<string, LoadedCertificate>()

  add(names: readonly string[], certificate: LoadedCertificate | undefined): void {
    if (certificate === undefined) return
    for (const name of names) if (!this.#names.has(name)) this.#names.set(name, certificate)
  }

  get entries(): [string, LoadedCertificate][] {
    return [...this.#names].sort(([one], [other]) => (one < other ? -1 : 1))
  }
}

/** True if a certificate cannot be looked up by one of its names: then the names of the certificate itself are used. */
function hasPattern({ names }: ServerSpec): boolean {
  return names.some((spec) => spec.kind === 'pattern' || spec.name.endsWith('.*'))
}

/**
 * Chooses the certificates of a listen address that speaks TLS: first a server of a vhost file with its own certificate for its
 * names, as in nginx; then sites with a certificate, automatic ones, and those of `tls.certs` for the names that they cover.
 * @returns undefined if there is none
 */
export function chooseCertificates(address: ListenAddress, sources: CertificateSources): ChosenCertificates | undefined {
  const { config, web, certificates, automatic, placeholder } = sources
  const byFiles = new Map(certificates.map((certificate) => [certificateKey(certificate), certificate]))
  const ofServer = ({ certificate }: ServerSpec) => certificate && byFiles.get(certificateKey(certificate))
  const servers = web.servers.filter(({ listen }) => listen.some((one) => one.address === address.name))
  const ofSites = config.sites.flatMap(({ tls_cert: cert, tls_key: key, hostnames }) => {
    const certificate = cert === undefined || key === undefined ? undefined : byFiles.get(certificateKey({ cert, key }))
    return certificate === undefined ? [] : [{ hostnames, certificate }]
  })
  const global = config.tls.certs.flatMap((files) => byFiles.get(certificateKey(files)) ?? [])

  const table = new NameTable()
  for (const server of servers) table.add(server.names.flatMap(plainHostnames), ofServer(server))
  for (const { hostnames, certificate } of ofSites) table.add(hostnames, certificate)
  for (const certificate of [...automatic, ...global]) table.add(certificate.names, certificate)
  for (const server of servers) if (hasPattern(server)) table.add(ofServer(server)?.names ?? [], ofServer(server))

  const standard = defaultServer(address.name, servers)
  const fallback =
    (standard && ofServer(standard)) ??
    [
      ...servers.map(ofServer),
      ...global,
      ...ofSites.map(({ certificate }) => certificate),
      ...automatic,
      ...certificates,
      placeholder,
    ].find((certificate) => certificate !== undefined)
  if (fallback === undefined) return undefined
  const { entries } = table
  const used = new Map([fallback, ...entries.map(([, certificate]) => certificate)].map((one) => [one.id, one]))
  return {
    certificates: [...used.values()].sort((one, other) => (one.id < other.id ? -1 : 1)),
    names: entries.map(([name, { id }]) => [name, id] as const),
    fallback: fallback.id,
    minVersion: standard?.minTlsVersion ?? config.tls.min_version,
  }
}
