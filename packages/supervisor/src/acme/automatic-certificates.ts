import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { coversName, type LoadedCertificate, plainHostnames } from '@svc/config'
import { asError, type Clock } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { Logger } from '@svc/telemetry'
import type { CertificateParts } from '../tls/certificates.ts'
import type { AcmeStore } from './acme-store.ts'
import { adviceFor } from './authority-advice.ts'
import type { AcmeSettings, IssuedCertificate } from './order-certificate.ts'
import { OrderFailures } from './order-failures.ts'

/** Longest time between two checks: clocks are set, and timers fire early or late. */
const LOOK_MS = 12 * 3_600_000
const SHORTEST_MS = 1_000
/** Time to the next check after a failed one, for example because the disk was unreadable. */
const AFTER_TROUBLE_MS = 600_000
/** New certificates are put into service in batches: each time costs the workers some memory. */
const GATHER_MS = 60_000
const DUE = 'the issued certificate is already due for renewal'

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
    .filter(({ certificates: own, listen }) => own.length === 0 && listen.some(({ isTls }) => isTls))
    .flatMap(({ names }) => names.flatMap(plainHostnames))
  const hosts = new Set([...ofSites, ...ofApps, ...ofServers].filter(canBeProved))
  return [...hosts].filter((host) => !certificates.some(({ names }) => coversName(names, host))).sort()
}

const RENEW_AFTER = 2 / 3
/** Part of the lifetime over which renewals are spread, so that they do not all come at once. */
const SPREAD = 1 / 24

/** Returns the time of renewal, in milliseconds since the epoch: after two thirds of the lifetime, plus a share by the host name. */
export function renewalAt(host: string, { notBefore, notAfter }: Pick<LoadedCertificate, 'notBefore' | 'notAfter'>): number {
  const lifetime = notAfter - notBefore
  const share = createHash('sha256').update(host).digest().readUInt32BE(0) / 2 ** 32
  return notBefore + lifetime * (RENEW_AFTER + SPREAD * share)
}

/** Options of `AutomaticCertificates`. */
interface AutomaticOptions {
  readonly store: AcmeStore
  /** `signal` aborts the order. */
  readonly order: (host: string, settings: AcmeSettings, signal: AbortSignal) => Promise<IssuedCertificate>
  /** Puts the new certificates into service. */
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
  readonly #failures: OrderFailures
  /** Hosts in service that have no certificate yet. */
  #missing: readonly string[] = []
  /** Hosts for which an operator wants a new certificate now. */
  readonly #renewals = new Set<string>()
  #looking: Promise<void> | undefined
  #cancelTimer: () => void = () => undefined
  #isClosed = false
  #ordering: { readonly host: string; readonly authority: string; readonly aborter: AbortController } | undefined

  constructor(options: AutomaticOptions) {
    this.#options = options
    this.#failures = new OrderFailures(options.store, options.clock, options.logger)
  }

  /** Returns the certificates that exist for a configuration. */
  async certificates(parts: CertificateParts): Promise<LoadedCertificate[]> {
    const { authority } = settingsOf(parts)
    return [...(await this.#atHand(authority, automaticHosts(parts))).values()]
  }

  /** Called when a configuration is in service: orders the certificates that it lacks from now on. */
  serve(parts: CertificateParts): void {
    this.#wanted = { hosts: automaticHosts(parts), settings: settingsOf(parts) }
    for (const host of this.#renewals) if (!this.#wanted.hosts.includes(host)) this.#renewals.delete(host)
    if (!this.#isWanted(this.#ordering)) this.#ordering?.aborter.abort()
    this.#lookLater(0)
  }

  /** Problems for the health endpoint. A failed renewal is no problem while the certificate is valid. */
  problems(): string[] {
    return this.missing().flatMap(({ host, reason }) => (reason === undefined ? [] : [`no certificate for ${host}: ${reason}`]))
  }

  missing(): { readonly host: string; readonly reason: string | undefined }[] {
    return this.#missing.map((host) => ({ host, reason: this.#failures.reason(host) }))
  }

  /** Orders a new certificate for a host now, whenever it is due and whatever failed before. False: the host gets none from here. */
  renew(host: string): boolean {
    if (this.#isClosed || !this.#wanted.hosts.includes(host)) return false
    this.#renewals.add(host)
    this.#lookLater(0)
    return true
  }

  /** Stops ordering and aborts the order in flight. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer()
    this.#ordering?.aborter.abort()
    await this.#looking
  }

  #isWanted(order: { readonly host: string; readonly authority: string } | undefined): boolean {
    const { hosts, settings } = this.#wanted
    return order?.authority === settings.authority && hosts.includes(order.host)
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
        this.#options.logger.error({ err: asError(error) }, 'failed to check the automatic certificates')
        this.#renewals.clear()
        return this.#options.clock.now() + AFTER_TROUBLE_MS
      })
      .then((nextAt) => {
        this.#looking = undefined
        const delayMs = Math.min(LOOK_MS, Math.max(SHORTEST_MS, nextAt - this.#options.clock.now()))
        this.#lookLater(wanted === this.#wanted && this.#renewals.size === 0 ? delayMs : 0)
      })
  }

  /** Orders the certificates that are due. @returns time of the next one */
  async #pass(wanted: Wanted): Promise<number> {
    const { hosts, settings } = wanted
    const { clock, onIssued } = this.#options
    const { authority } = settings
    await this.#failures.load(authority)
    const known = await this.#atHand(authority, hosts)
    let [unserved, servedAt] = [0, clock.monotonic()]
    let nextAt = Number.POSITIVE_INFINITY
    for (const host of hosts) {
      if (this.#isClosed || this.#wanted !== wanted) break
      const dueAt = this.#renewals.delete(host) ? 0 : this.#dueAt(host, known.get(host))
      if (dueAt > clock.now()) nextAt = Math.min(nextAt, dueAt)
      else {
        const issued = await this.#obtain(host, settings)
        if (issued !== undefined) {
          known.set(host, issued)
          unserved++
        }
        nextAt = Math.min(nextAt, this.#dueAt(host, known.get(host)))
      }
      if (unserved > 0 && clock.monotonic() - servedAt > GATHER_MS) {
        await onIssued()
        ;[unserved, servedAt] = [0, clock.monotonic()]
      }
    }
    this.#missing = hosts.filter((host) => (known.get(host)?.notAfter ?? 0) <= clock.now())
    if (unserved > 0 && !this.#isClosed) await onIssued()
    return nextAt
  }

  #dueAt(host: string, certificate: LoadedCertificate | undefined): number {
    const wantedAt = certificate === undefined ? 0 : renewalAt(host, certificate)
    return Math.max(wantedAt, this.#failures.retryAt(host))
  }

  async #obtain(host: string, settings: AcmeSettings): Promise<LoadedCertificate | undefined> {
    const { store, order, logger, clock } = this.#options
    const { authority } = settings
    const aborter = new AbortController()
    this.#ordering = { host, authority, aborter }
    logger.info({ host, authority }, 'ordering a certificate')
    try {
      await this.#failures.noteAttempt(host)
      const { keyPem, chainPem } = await order(host, settings, aborter.signal)
      await store.saveCertificate(authority, host, keyPem, chainPem)
      const issued = (await this.#atHand(authority, [host])).get(host)
      if (issued === undefined) throw new SupervisorError('SUP_CERTIFICATE', 'the issued certificate is unusable')
      logger.info({ host, not_after: new Date(issued.notAfter).toISOString() }, 'certificate issued')
      // Otherwise it would be ordered in an endless loop.
      if (renewalAt(host, issued) > clock.now()) await this.#failures.fulfilled(host)
      else await this.#failed(host, authority, new SupervisorError('SUP_CERTIFICATE', DUE), 'check the clock of this machine')
      return issued
    } catch (error) {
      if (aborter.signal.aborted) {
        logger.info({ host, authority }, 'the order of a certificate was aborted')
        await this.#failures.aborted()
      } else await this.#failed(host, authority, error)
      return undefined
    } finally {
      this.#ordering = undefined
    }
  }

  async #failed(host: string, authority: string, error: unknown, advice = adviceFor(error, host, authority)): Promise<void> {
    const { failures, retryAt, reason } = await this.#failures.failed(host, error)
    const facts = { alert: 'certificate_failed', host, authority, failures, retry_at: new Date(retryAt).toISOString() }
    this.#options.logger.error(facts, `failed to obtain a certificate for ${host}: ${reason}; ${advice}`)
  }

  #atHand(authority: string, hosts: readonly string[]): Promise<Map<string, LoadedCertificate>> {
    const { store, logger } = this.#options
    return store.certificates(authority, hosts, (message) => logger.warn(`unusable automatic certificate: ${message}`))
  }
}
