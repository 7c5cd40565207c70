import { join } from 'node:path'
import { certificateKey, certificatePlaces, type LoadedCertificate, type LoadedConfig, readCertificate } from '@svc/config'
import type { Clock } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { GenerationSpec, ListenAddress, ListenerTls } from '@svc/protocol'
import { CertificateCopies } from './certificate-copies.ts'
import { type CertificateSources, type ChosenCertificates, chooseCertificates } from './listener-tls.ts'
import { selfSigned } from './self-signed.ts'

/** What a generation's certificates are made of. */
export type CertificateParts = Pick<LoadedConfig, 'config' | 'web' | 'certificates'>

/** Certificates that the configuration does not name. */
interface CertificateSource {
  certificates(parts: CertificateParts): Promise<readonly LoadedCertificate[]>
  /** What is wrong with them. */
  problems(): readonly string[]
}

type Tls = GenerationSpec['tls']

/** What a generation's certificates were chosen from, and those that were. */
interface Chosen {
  readonly files: readonly LoadedCertificate[]
  readonly used: readonly LoadedCertificate[]
}

/** The certificates of an instance: chooses them for its listen addresses, keeps the copies, and knows what is wrong with them. */
export class Certificates {
  readonly #copies: CertificateCopies
  readonly #automatic: CertificateSource
  readonly #clock: Clock
  /** Made when it is first needed, and the same from then on. */
  #placeholder: LoadedCertificate | undefined
  /** In service. What a generation brings that does not come into service must not get in here. */
  #served: Chosen = { files: [], used: [] }
  readonly #chosen = new WeakMap<Tls, Chosen>()
  #faults: readonly string[] = []
  /** Settles when no copy is being written. */
  #written: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(runDir: string, automatic: CertificateSource, clock: Clock) {
    this.#copies = new CertificateCopies(join(runDir, 'tls'))
    this.#automatic = automatic
    this.#clock = clock
  }

  /** Certificates of files as the generation in service has them. */
  get files(): readonly LoadedCertificate[] {
    return this.#served.files
  }

  /**
   * Makes what the addresses that speak TLS need, and the copies of it. One call after another.
   * @throws SUP_NO_CERTIFICATE, SUP_STOPPED, and what writing throws
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
    const sources = { config, web, certificates, automatic, placeholder: this.#placeholderFor(config) }
    for (const address of speaking) {
      if (this.#isClosed) throw new SupervisorError('SUP_STOPPED', 'the server ends')
      const { certificates: chosen, ...rest } = chosenFor(address, sources)
      for (const certificate of chosen) used.set(certificate.id, certificate)
      const copies = await this.#copies.write(chosen)
      const titled = copies.map((copy) => ({ ...copy, title: placedTitle(used.get(copy.id), places) }))
      tls[address.name] = { certificates: titled, ...rest }
    }
    Object.freeze(tls)
    this.#chosen.set(tls, { files: certificates, used: [...used.values()] })
    return tls
  }

  /** These certificates are in service in all workers: no other copies are needed. */
  async served(tls: Tls): Promise<void> {
    this.#served = this.#chosen.get(tls) ?? this.#served
    await this.#copies.prune(new Set(this.#served.used.map(({ id }) => id)))
  }

  /** Removes all copies, those of a reload that has not ended too. No worker is left that opens them. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#written
    await this.#copies.prune(new Set())
  }

  /** A reload has failed: finds out whether files of certificates are to blame. */
  async recheck(): Promise<void> {
    const faults = await Promise.all(
      this.#served.files.map(async (files) => {
        const read = await readCertificate(files)
        return Array.isArray(read) ? read.map(({ message }) => message) : []
      }),
    )
    this.#faults = [...new Set(faults.flat())]
  }

  /** A reload has succeeded: all files are as they are served. */
  noFaults(): void {
    this.#faults = []
  }

  /** What is wrong with certificates in service or their files, for the health endpoint; undefined: nothing speaks TLS. */
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

  /** Automatic certificates take a moment: nobody waits for them. */
  #placeholderFor({ tls }: CertificateParts['config']): LoadedCertificate | undefined {
    if (!tls.auto) return undefined
    this.#placeholder ??= selfSigned(this.#clock.now())
    return this.#placeholder
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

/** The file that the configuration names, and where. */
function placedTitle(certificate: LoadedCertificate | undefined, places: ReadonlyMap<string, string>): string {
  if (certificate === undefined) return ''
  const place = places.get(certificateKey(certificate))
  return place === undefined ? titleOf(certificate) : `${titleOf(certificate)} (${place})`
}
