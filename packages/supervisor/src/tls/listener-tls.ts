import { createHash } from 'node:crypto'
import {
  type ClientCheck,
  type Config,
  certificateKey,
  defaultServer,
  EARLY_FAULTS,
  hasEarlyPage,
  type LoadedCertificate,
  plainHostnames,
  type ServerSpec,
  type WebSpec,
} from '@svc/config'
import { type ClientAuthorities, REJECTED } from '@svc/http'
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
  /** The files that verify the clients of servers. */
  readonly authorities: ReadonlyMap<ClientCheck, ClientAuthorities>
}

/** A certificate as an address uses it. */
export interface UsedCertificate {
  /** See `CertificateSpec`. */
  readonly id: string
  /** The first, and those of other kinds of keys. */
  readonly pairs: readonly [LoadedCertificate, ...LoadedCertificate[]]
  readonly ciphers: string | undefined
  readonly clients: ClientAuthorities | undefined
}

/** The certificates of a listen address, by id in `names` and `fallback`: see `ListenerTls`. */
export interface ChosenCertificates {
  readonly certificates: readonly UsedCertificate[]
  readonly names: ListenerTls['names']
  readonly fallback: string
  readonly minVersion: ListenerTls['minVersion']
  readonly takesPlain: boolean
}

type Pairs = UsedCertificate['pairs']

/** Collects names; the first entry of a name wins. */
class NameTable {
  readonly #names = new Map<string, Pairs>()

  add(names: readonly string[], pairs: Pairs | undefined): void {
    if (pairs === undefined) return
    for (const name of names) if (!this.#names.has(name)) this.#names.set(name, pairs)
  }

  /** The certificate of a name, perhaps that of all names below its domain. */
  find(name: string): Pairs | undefined {
    return entryFor(this.#names, name)
  }

  get entries(): [string, Pairs][] {
    return [...this.#names]
  }
}

const ID_CHARS = 32

/** @param server that uses it: servers that ask their clients for certificates share no handshake, as in nginx */
function usedCertificate(pairs: Pairs, server: ServerSpec | undefined, clients: ClientAuthorities | undefined): UsedCertificate {
  const ciphers = server?.ciphers
  const ids = pairs.map(({ id }) => id)
  const isPlain = ids.length === 1 && ciphers === undefined && clients === undefined
  const digest = () =>
    createHash('sha256')
      .update(JSON.stringify([ids, ciphers, clients, clients && [server?.site, server?.clientCheck?.mode]]))
      .digest('hex')
      .slice(0, ID_CHARS)
  return { id: isPlain ? pairs[0].id : digest(), pairs, ciphers, clients }
}

/** The server of a vhost file that has each name; of several the first. */
function ownersOf(servers: readonly ServerSpec[]): ReadonlyMap<string, ServerSpec> {
  const owners = new Map<string, ServerSpec>()
  for (const server of servers) {
    for (const name of server.names.flatMap(plainHostnames)) if (!owners.has(name)) owners.set(name, server)
  }
  return owners
}

/** The entry of a name, or that of all names below its domain. */
function entryFor<Value>(table: ReadonlyMap<string, Value>, name: string): Value | undefined {
  const exact = table.get(name)
  if (exact !== undefined) return exact
  for (let dot = name.indexOf('.', 1); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const value = table.get(`*${name.slice(dot)}`)
    if (value !== undefined) return value
  }
  return undefined
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
  const { config, web, certificates, automatic, placeholder, authorities } = sources
  const byFiles = new Map(certificates.map((certificate) => [certificateKey(certificate), certificate]))
  const ofServer = (server: ServerSpec) =>
    pairsOf(server.certificates.flatMap((files) => byFiles.get(certificateKey(files)) ?? []))
  const servers = web.servers.filter(({ listen }) => listen.some((one) => one.address === address.name))
  const ofSites = config.sites.flatMap(({ tls_cert: cert, tls_key: key, hostnames }) => {
    const certificate = cert === undefined || key === undefined ? undefined : byFiles.get(certificateKey({ cert, key }))
    return certificate === undefined ? [] : [{ hostnames, certificate }]
  })
  const global = config.tls.certs.flatMap((files) => byFiles.get(certificateKey(files)) ?? [])

  const owners = ownersOf(servers)
  const table = new NameTable()
  for (const [name, server] of owners) if (!server.rejectsHandshakes) table.add([name], ofServer(server))
  for (const { hostnames, certificate } of ofSites) table.add(hostnames, [certificate])
  for (const certificate of [...automatic, ...global]) table.add(certificate.names, [certificate])
  for (const server of servers) if (hasPattern(server)) table.add(ofServer(server)?.[0].names ?? [], ofServer(server))

  const standard = defaultServer(address.name, servers)
  const others = [...global, ...ofSites.map(({ certificate }) => certificate), ...automatic, ...certificates, placeholder]
  const fallback =
    (standard && ofServer(standard)) ??
    servers.map(ofServer).find((pairs) => pairs !== undefined) ??
    pairsOf(others.filter((certificate) => certificate !== undefined).slice(0, 1))
  const isRejected = standard?.rejectsHandshakes === true
  if (fallback === undefined && !isRejected) return undefined
  // Servers whose certificate is that of a wildcard, or of everything, may have ciphers or clients of their own.
  for (const [name, { ciphers, clientCheck, rejectsHandshakes }] of owners) {
    if ((ciphers !== undefined || clientCheck !== undefined) && !rejectsHandshakes)
      table.add([name], table.find(name) ?? fallback)
  }
  const used = new Map<string, UsedCertificate>()
  const idOf = (pairs: Pairs, server: ServerSpec | undefined) => {
    const certificate = usedCertificate(pairs, server, server?.clientCheck && authorities.get(server.clientCheck))
    used.set(certificate.id, certificate)
    return certificate.id
  }
  const names = table.entries.map(([name, pairs]) => [name, idOf(pairs, entryFor(owners, name) ?? standard)] as const)
  const rejected = [...owners].filter(([, server]) => server.rejectsHandshakes).map(([name]) => [name, REJECTED] as const)
  const standing = isRejected || fallback === undefined ? REJECTED : idOf(fallback, standard)
  return {
    certificates: [...used.values()].sort((one, other) => (one.id < other.id ? -1 : 1)),
    names: [...new Map([...names, ...rejected])].sort(([one], [other]) => (one < other ? -1 : 1)),
    fallback: standing,
    minVersion: standard?.minTlsVersion ?? config.tls.min_version,
    takesPlain: servers.some((server) => hasEarlyPage(server, EARLY_FAULTS.plainHttp)),
  }
}

function pairsOf([first, ...others]: readonly LoadedCertificate[]): Pairs | undefined {
  return first === undefined ? undefined : [first, ...others]
}
