import { lstat, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { ConfigProblem, WebSpec } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import type { Finding } from '../values/finding.ts'
import { type CertificateUse, certificateUses, isPlace } from './certificate-uses.ts'
import {
  type CertificateFault,
  type CertificateFile,
  type CertificateFiles,
  certificateKey,
  type LoadedCertificate,
  readCertificate,
} from './read-certificate.ts'

/** The certificates of a configuration, and their problems. */
interface ReadCertificates {
  /** Each pair of files once. */
  readonly certificates: readonly LoadedCertificate[]
  /** At keys of the configuration. */
  readonly findings: readonly Finding[]
  /** In vhost files. */
  readonly problems: readonly ConfigProblem[]
  readonly notices: readonly string[]
  /** Absolute paths of all files that were read. */
  readonly files: readonly string[]
}

/** So long before a certificate ends, it should have been renewed. */
const SOON_MS = 14 * 24 * 3_600_000

/** Names that a notice gives. */
const MAX_LISTED = 10

/** Files that are read at once: there may be a thousand. */
const MAX_PARALLEL = 16

type Read = LoadedCertificate | CertificateFault[]

/** Files that have changed so shortly ago may be about to change again. */
const FRESH_MS = 5_000
/** Tools that replace a certificate write its key within this time. */
const SETTLE_MS = 500

/** Returns true if something of a pair has changed a moment ago: a file, or a link to it. */
async function isFresh({ cert, key }: CertificateFiles, now: number): Promise<boolean> {
  const looks = [cert, key].flatMap((path) => [stat(path), lstat(path)])
  const found = (await Promise.allSettled(looks)).flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []))
  return found.some(({ mtimeMs, ctimeMs }) => now - Math.max(mtimeMs, ctimeMs) < FRESH_MS)
}

/** Reads all pairs. Those with faults may be just being replaced, one file after the other: they are read once more after a pause. */
async function readAll(uses: readonly CertificateUse[], now: number, pause: () => Promise<unknown>): Promise<Map<string, Read>> {
  const read = await readEach(uses)
  const faulty = uses.filter((use) => Array.isArray(read.get(certificateKey(use))))
  const areFresh = await Promise.all(faulty.map((use) => isFresh(use, now)))
  const unsettled = faulty.filter((_use, at) => areFresh[at])
  if (unsettled.length === 0) return read
  await pause()
  return new Map([...read, ...(await readEach(unsettled))])
}

async function readEach(uses: readonly CertificateUse[]): Promise<Map<string, Read>> {
  const waiting = new Map(uses.map((use) => [certificateKey(use), use]))
  const read = new Map<string, Read>()
  const next = waiting.entries()
  const work = async () => {
    for (const [key, { cert, key: keyFile, passwords }] of next)
      read.set(key, await readCertificate({ cert, key: keyFile, passwords }))
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL }, work))
  return read
}

/** One certificate may be meant for thousands of names. */
function listOf(names: readonly string[]): string {
  const more = names.length - MAX_LISTED
  const listed = names.slice(0, MAX_LISTED).join(', ')
  return more > 0 ? `${listed} and ${more} more` : listed
}

/** Warnings about a certificate that clients will reject. */
function noticesFor(certificate: LoadedCertificate, names: readonly string[], now: number): string[] {
  const { cert, notBefore, notAfter, isChainInOrder } = certificate
  const day = (time: number) => new Date(time).toISOString().slice(0, 10)
  const uncovered = names.filter((name) => !coversName(certificate.names, name))
  const notices: string[] = []
  if (notAfter <= now) notices.push(`the certificate ${cert} expired on ${day(notAfter)}: clients will refuse it`)
  else if (notAfter - now < SOON_MS) notices.push(`the certificate ${cert} expires on ${day(notAfter)}`)
  if (notBefore > now) notices.push(`the certificate ${cert} is not valid before ${day(notBefore)}: clients will refuse it`)
  if (!isChainInOrder)
    notices.push(`the certificates in ${cert} are out of order: each certificate must be followed by its issuer`)
  if (uncovered.length > 0) notices.push(`the certificate ${cert} does not cover ${listOf(uncovered)}`)
  return notices
}

/**
 * Reads every certificate and key that a configuration names, and checks them. `now` in milliseconds since the epoch.
 * @param pause before files are read again that may be just being replaced
 */
export async function loadCertificates(
  config: Config,
  web: WebSpec,
  now: number,
  pause: () => Promise<unknown> = () => setTimeout(SETTLE_MS),
): Promise<ReadCertificates> {
  const uses = certificateUses(config, web)
  const read = await readAll(uses, now, pause)
  const findings: Finding[] = [...nothingToServe(config, uses)]
  const problems = new Map<string, ConfigProblem>()
  const namesOf = new Map<LoadedCertificate, Set<string>>()
  for (const use of uses) {
    const result = read.get(certificateKey(use))
    if (result === undefined) continue
    if (!Array.isArray(result)) {
      const names = namesOf.get(result) ?? new Set()
      namesOf.set(result, names)
      for (const name of use.names) names.add(name)
      continue
    }
    for (const { file, isMissing: _isMissing, ...what } of result) {
      const at = use.at[file]
      if (!isPlace(at)) findings.push({ path: at, ...what })
      // Many servers may share one certificate.
      else if (!problems.has(what.message)) problems.set(what.message, { ...at, path: directiveOf(file), ...what })
    }
  }
  return {
    certificates: [...read.values()].filter((result): result is LoadedCertificate => !Array.isArray(result)),
    findings,
    problems: [...problems.values()],
    notices: [...namesOf].flatMap(([certificate, names]) => noticesFor(certificate, [...names], now)),
    files: uses.flatMap(({ cert, key }) => [cert, key]),
  }
}

/** Vhost files may have certificates, or not. */
function nothingToServe({ server, tls }: Config, uses: readonly CertificateUse[]): Finding[] {
  if (server.listen_tls === undefined || server.vhosts.length === 0 || tls.auto || uses.length > 0) return []
  const hint = 'set ssl_certificate in a vhost file, tls.certs, tls.auto or tls_cert and tls_key of a site'
  return [{ path: ['server', 'listen_tls'], message: 'no certificate is configured', hint }]
}

function directiveOf(file: CertificateFile): string {
  return file === 'cert' ? 'ssl_certificate' : 'ssl_certificate_key'
}

/** Returns true if a certificate for these names is good for a host name or for all names of `*.suffix` (RFC 6125 section 6.4.3). */
export function coversName(names: readonly string[], name: string): boolean {
  if (names.includes(name)) return true
  const dot = name.indexOf('.')
  return dot !== -1 && !name.startsWith('*') && names.includes(`*${name.slice(dot)}`)
}
