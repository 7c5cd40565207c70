import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import {
  certificateKey,
  certificatePlaces,
  coversName,
  type LoadedCertificate,
  type LoadedConfig,
  readCertificate,
} from '@svc/config'
import type { Clock } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { CertificateReport, CertificateSpec, GenerationSpec, ListenAddress, ListenerTls, Renewal } from '@svc/protocol'
import { CertificateCopies } from './certificate-copies.ts'
import { readAuthorities } from './client-authorities.ts'
import { type CertificateSources, type ChosenCertificates, chooseCertificates, type UsedCertificate } from './listener-tls.ts'
import { selfSigned } from './self-signed.ts'

/** Parts of a configuration that determine its certificates. */
export type CertificateParts = Pick<LoadedConfig, 'config' | 'web' | 'certificates'>

/** Certificates that the configuration does not name. */
interface CertificateSource {
  certificates(parts: CertificateParts): Promise<readonly LoadedCertificate[]>
  /** Their problems, as texts. */
  problems(): readonly string[]
  /** Hosts that have none, and why the last order failed. */
  missing(): ReadonlyArray<{ readonly host: string; readonly reason: string | undefined }>
  /** Orders a new certificate for a host. False: the host gets none from here. */
  renew(host: string): boolean
}

type Tls = GenerationSpec['tls']

/** Candidates for a generation's certificates, and the chosen ones. */
interface Chosen {
  readonly files: readonly LoadedCertificate[]
  readonly used: readonly LoadedCertificate[]
}

/** The certificates of an instance: chooses them for its listen addresses, keeps the copies, and reports their problems. */
export class Certificates {
  readonly #copies: CertificateCopies
  readonly #automatic: CertificateSource
  readonly #clock: Clock
  /** Made on first use, then kept. */
  #placeholder: LoadedCertificate | undefined
  /** In service. Must not contain certificates of a generation that failed to come into service. */
  #served: Chosen = { files: [], used: [] }
  readonly #chosen = new WeakMap<Tls, Chosen>()
  #faults: readonly string[] = []
  /** Settles when no write of a copy is in progress. */
  #written: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(runDir: string, automatic: CertificateSource, clock: Clock) {
    this.#copies = new CertificateCopies(join(runDir, 'tls'))
    this.#automatic = automatic
    this.#clock = clock
  }

  /** Certificates of files in the generation in service. */
  get files(): readonly LoadedCertificate[] {
    return this.#served.files
  }

  /**
   * Chooses the certificates of the addresses that speak TLS and writes their copies. One call after another.
   * @throws SUP_NO_CERTIFICATE, SUP_STOPPED, and errors of the writes
   */
  tlsFor(listen: readonly ListenAddress[], parts: CertificateParts): Promise<Tls> {
    const made = this.#tlsFor(listen, parts)
    this.#written = made.catch(() => undefined)
    return made
  }

  async #tlsFor(listen: readonly ListenAddress[], parts: CertificateParts): Promise<Tls> {
    const { config, web, certificates } = parts
    const tls: Record<string, ListenerTls> = {}
    const used = new Map<string, LoadedCertificate>()
    const speaking = listen.filter(({ isTls }) => isTls === true)
    const automatic = speaking.length === 0 ? [] : await this.#automatic.certificates({ config, web, certificates })
    const places = certificatePlaces(config, web)
    const authorities = await readAuthorities(web)
    const sources = { config, web, certificates, automatic, placeholder: this.#placeholderFor(config), authorities }
    for (const address of speaking) {
      if (this.#isClosed) throw new SupervisorError('SUP_STOPPED', 'the server is stopping')
      const { certificates: chosen, ...rest } = chosenFor(address, sources)
      for (const pair of chosen.flatMap(({ pairs }) => pairs)) used.set(pair.id, pair)
      const written: CertificateSpec[] = []
      for (const one of chosen) written.push(await this.#specOf(one, places))
      tls[address.name] = { certificates: written, ...rest }
    }
    Object.freeze(tls)
    this.#chosen.set(tls, { files: certificates, used: [...used.values()] })
    return tls
  }

  /** A certificate as the engines get it. */
  async #specOf({ id, pairs, ciphers, clients }: UsedCertificate, places: ReadonlyMap<string, string>): Promise<CertificateSpec> {
    const [first, ...more] = pairs
    const { certFile, keyFile } = await this.#copies.writeOne(first)
    const others = await this.#copies.write(more)
    const title = pairs.map((pair) => placedTitle(pair, places)).join(' and ')
    return { id, certFile, keyFile, title, ciphers, clients, ...(others.length > 0 && { others }) }
  }

  /** Called when these certificates are in service in all workers: deletes all other copies. */
  async served(tls: Tls): Promise<void> {
    this.#served = this.#chosen.get(tls) ?? this.#served
    await this.#copies.prune(new Set(this.#served.used.map(({ id }) => id)))
  }

  /** Deletes all copies, also those of an unfinished reload. Call it when no worker is left to open them. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#written
    await this.#copies.prune(new Set())
  }

  /** Called after a failed reload: checks if files of certificates are the cause. */
  async recheck(): Promise<void> {
    const faults = await Promise.all(
      this.#served.files.map(async (files) => {
        const read = await readCertificate(files)
        return Array.isArray(read) ? read.map(({ message }) => message) : []
      }),
    )
    this.#faults = [...new Set(faults.flat())]
  }

  /** Called after a successful reload: all files match the certificates in service. */
  noFaults(): void {
    this.#faults = []
  }

  /** Problems of certificates in service or their files, for the health endpoint; undefined: no address speaks TLS. */
  problems(): readonly string[] | undefined {
    const { used } = this.#served
    if (used.length === 0) return undefined
    const now = this.#clock.now()
    const expired = used.filter(({ notAfter }) => notAfter <= now)
    const unready = used.filter(({ notBefore }) => notBefore > now)
    return [
      ...this.#faults,
      ...this.#automatic.problems(),
      ...expired.map((one) => `${titleOf(one)} has expired`),
      ...unready.map((one) => `${titleOf(one)} is not valid yet`),
    ]
  }

  /** The certificates in service, without their keys, and the hosts that wait for one. */
  report(): CertificateReport[] {
    const now = this.#clock.now()
    const waiting = this.#automatic.missing().map(({ host, reason }): CertificateReport => {
      const state = reason === undefined ? 'pending' : 'failed'
      const none = { issuer: null, not_before: null, not_after: null, file: null }
      return { names: [host], source: 'acme', state, ...none, reason: reason ?? null }
    })
    const { files, used } = this.#served
    return [...used.map((one) => reportOf(one, files.includes(one), now)), ...waiting]
  }

  /** Names and ends of the certificates in service, except the placeholder. */
  lifetimes(): Pick<LoadedCertificate, 'names' | 'notAfter'>[] {
    return this.#served.used.filter((one) => one !== this.#placeholder)
  }

  /** Orders a new certificate for a host. */
  renew(host: string): Renewal['outcome'] {
    if (this.#automatic.renew(host)) return 'ordered'
    return this.#served.files.some(({ names }) => coversName(names, host)) ? 'file' : 'unknown'
  }

  /** The placeholder serves until automatic certificates arrive: nothing waits for them. */
  #placeholderFor({ tls }: CertificateParts['config']): LoadedCertificate | undefined {
    if (!tls.auto) return undefined
    this.#placeholder ??= selfSigned(this.#clock.now())
    return this.#placeholder
  }
}

/** @param isOfFile true if the configuration names its file */
function reportOf(certificate: LoadedCertificate, isOfFile: boolean, now: number): CertificateReport {
  const { cert, names, notBefore, notAfter, chainPem } = certificate
  return {
    names: [...names],
    source: isOfFile ? 'file' : names.length === 0 ? 'self_signed' : 'acme',
    state: notAfter <= now ? 'expired' : notBefore > now ? 'not_yet_valid' : 'valid',
    issuer: new X509Certificate(chainPem).issuer,
    not_before: new Date(notBefore).toISOString(),
    not_after: new Date(notAfter).toISOString(),
    file: isOfFile ? cert : null,
    reason: null,
  }
}

/** @throws SUP_NO_CERTIFICATE */
function chosenFor(address: ListenAddress, sources: CertificateSources): ChosenCertificates {
  const chosen = chooseCertificates(address, sources)
  if (chosen !== undefined) return chosen
  throw new SupervisorError('SUP_NO_CERTIFICATE', { address: address.name })
}

function titleOf({ cert, names }: LoadedCertificate): string {
  if (cert !== '') return cert
  return names.length === 0 ? 'the certificate of the server itself' : `the certificate for ${names.join(', ')}`
}

/** Names the file, and its place in the configuration. */
function placedTitle(certificate: LoadedCertificate, places: ReadonlyMap<string, string>): string {
  const place = places.get(certificateKey(certificate))
  return place === undefined ? titleOf(certificate) : `${titleOf(certificate)} (${place})`
}
