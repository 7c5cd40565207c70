import type { LoadedCertificate } from '@svc/config'
import { asError, type Clock, messageOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { SupervisorError } from '../errors.ts'
import type { CertificateParts } from '../tls/certificates.ts'
import type { AcmeFailure, AcmeStore } from './acme-store.ts'
import { automaticHosts } from './automatic-hosts.ts'
import type { AcmeSettings, IssuedCertificate } from './order-certificate.ts'
import { renewalAt, retryDelayMs } from './renewal.ts'

/** Longest time without a look: clocks are set, and timers end early or late. */
const LOOK_MS = 12 * 3_600_000
const SHORTEST_MS = 1_000
/** New certificates are taken into service together: each time costs the workers some memory. */
const GATHER_MS = 60_000

/** What automatic certificates are made with. */
export interface AutomaticOptions {
  readonly store: AcmeStore
  readonly order: (host: string, settings: AcmeSettings) => Promise<IssuedCertificate>
  /** Takes into service what has come. */
  readonly onIssued: () => Promise<unknown>
  readonly clock: Clock
  readonly logger: Logger
}

interface Wanted {
  readonly hosts: readonly string[]
  readonly settings: AcmeSettings
}

const nothing: Wanted = { hosts: [], settings: { authority: '', email: undefined } }

function settingsOf({ config }: CertificateParts): AcmeSettings {
  return { authority: config.tls.acme_directory, email: config.tls.email }
}

/** Gets and renews the certificates of host names that have none, one after another, while the server serves. */
export class AutomaticCertificates {
  readonly #options: AutomaticOptions
  #wanted: Wanted = nothing
  #failures: Record<string, AcmeFailure> = {}
  /** Hosts that are served without a certificate of theirs. */
  #missing: readonly string[] = []
  #looking: Promise<void> | undefined
  #cancelTimer: () => void = () => undefined
  #isClosed = false

  constructor(options: AutomaticOptions) {
    this.#options = options
  }

  /** The certificates at hand for a configuration. */
  async certificates(parts: CertificateParts): Promise<LoadedCertificate[]> {
    const { authority } = settingsOf(parts)
    return [...(await this.#atHand(authority, automaticHosts(parts))).values()]
  }

  /** A configuration is in service: what it lacks is obtained from now on. */
  serve(parts: CertificateParts): void {
    this.#wanted = { hosts: automaticHosts(parts), settings: settingsOf(parts) }
    this.#lookLater(0)
  }

  /** What is wrong, for the health endpoint: a renewal that fails is none while the certificate is valid. */
  problems(): string[] {
    return this.#missing.flatMap((host) => {
      const failure = this.#failures[host]
      return failure === undefined ? [] : [`no certificate for ${host}: ${failure.reason}`]
    })
  }

  /** No further order begins. */
  close(): void {
    this.#isClosed = true
    this.#cancelTimer()
  }

  #lookLater(delayMs: number): void {
    this.#cancelTimer()
    if (this.#isClosed || this.#wanted.hosts.length === 0) return
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#look())
  }

  #look(): void {
    if (this.#looking !== undefined) return
    const wanted = this.#wanted
    this.#looking = this.#pass(wanted)
      .catch((error) => {
        this.#options.logger.error({ err: asError(error) }, 'automatic certificates could not be looked after')
        return this.#options.clock.now() + LOOK_MS
      })
      .then((nextAt) => {
        this.#looking = undefined
        const delayMs = Math.min(LOOK_MS, Math.max(SHORTEST_MS, nextAt - this.#options.clock.now()))
        this.#lookLater(wanted === this.#wanted ? delayMs : 0)
      })
  }

  /** Orders what is due. @returns when something is due next */
  async #pass({ hosts, settings }: Wanted): Promise<number> {
    const { store, clock, onIssued } = this.#options
    const { authority } = settings
    this.#failures = { ...(await store.failures(authority)) }
    const known = await this.#atHand(authority, hosts)
    let [unserved, servedAt] = [0, clock.now()]
    let nextAt = Number.POSITIVE_INFINITY
    for (const host of hosts) {
      if (this.#isClosed) break
      const dueAt = this.#dueAt(host, known.get(host))
      if (dueAt > clock.now()) nextAt = Math.min(nextAt, dueAt)
      else {
        const issued = await this.#obtain(host, settings)
        if (issued === undefined) nextAt = Math.min(nextAt, this.#failures[host]?.retryAt ?? nextAt)
        else {
          known.set(host, issued)
          nextAt = Math.min(nextAt, this.#dueAt(host, issued))
          unserved++
        }
      }
      if (unserved > 0 && clock.now() - servedAt > GATHER_MS) {
        await onIssued()
        ;[unserved, servedAt] = [0, clock.now()]
      }
    }
    this.#missing = hosts.filter((host) => (known.get(host)?.notAfter ?? 0) <= clock.now())
    if (unserved > 0) await onIssued()
    return nextAt
  }

  #dueAt(host: string, certificate: LoadedCertificate | undefined): number {
    const wantedAt = certificate === undefined ? 0 : renewalAt(host, certificate)
    return Math.max(wantedAt, this.#failures[host]?.retryAt ?? 0)
  }

  async #obtain(host: string, settings: AcmeSettings): Promise<LoadedCertificate | undefined> {
    const { store, order, logger } = this.#options
    const { authority } = settings
    logger.info({ host, authority }, 'a certificate is ordered')
    try {
      const { keyPem, chainPem } = await order(host, settings)
      await store.saveCertificate(authority, host, keyPem, chainPem)
      const issued = (await this.#atHand(authority, [host])).get(host)
      if (issued === undefined) throw new SupervisorError('SUP_CERTIFICATE', 'what the authority issued cannot be used')
      const { [host]: _over, ...others } = this.#failures
      this.#failures = others
      await store.saveFailures(authority, others)
      logger.info({ host, not_after: new Date(issued.notAfter).toISOString() }, 'a certificate was issued')
      return issued
    } catch (error) {
      await this.#failed(host, authority, error)
      return undefined
    }
  }

  async #failed(host: string, authority: string, error: unknown): Promise<void> {
    const { store, clock, logger } = this.#options
    const reason = messageOf(error)
    const failures = (this.#failures[host]?.failures ?? 0) + 1
    const retryAt = clock.now() + retryDelayMs(failures, /rate.?limit|too many/i.test(reason))
    this.#failures = { ...this.#failures, [host]: { failures, retryAt, reason } }
    const advice = `check that http://${host}/.well-known/acme-challenge/ leads to this server on port 80 from everywhere`
    const facts = { alert: 'certificate_failed', host, authority, failures, retry_at: new Date(retryAt).toISOString() }
    logger.error(facts, `no certificate could be obtained for ${host}: ${reason}; ${advice}`)
    await store.saveFailures(authority, this.#failures)
  }

  #atHand(authority: string, hosts: readonly string[]): Promise<Map<string, LoadedCertificate>> {
    const { store, logger } = this.#options
    return store.certificates(authority, hosts, (message) => logger.warn(`an automatic certificate is unusable: ${message}`))
  }
}
