import type { LoadedConfig } from '@svc/config'
import { shellWord } from '../../command-line/installation.ts'
import type { Check, Subject, Verdict } from '../model/subject.ts'
import { forbiddenPaths } from './user-rights.ts'

const DAY_MS = 86_400_000
/** A certificate is to be renewed before this is left. */
const SOON_DAYS = 14
const MAX_LISTED = 5

type Certificate = LoadedConfig['certificates'][number]

/** Certbot keeps its certificates in a directory with the name of each. */
function renewal({ cert, key }: Certificate, reload: string): string {
  const name = /\/letsencrypt\/live\/([^/]+)\//.exec(cert)?.[1]
  if (name !== undefined) return `certbot renew --cert-name ${shellWord(name)} --force-renewal && ${reload}`
  return `put the renewed certificate into ${cert} and its key into ${key}, then: ${reload}`
}

function validity(certificate: Certificate, now: number, reload: string): Verdict[] {
  const { cert, notBefore, notAfter, isChainInOrder } = certificate
  const day = (time: number) => new Date(time).toISOString().slice(0, 10)
  const remedy = renewal(certificate, reload)
  const found: Verdict[] = []
  if (notAfter <= now)
    found.push({ status: 'problem', message: `${cert} expired on ${day(notAfter)}: clients refuse it`, remedy })
  else if (notAfter - now < SOON_DAYS * DAY_MS) {
    const days = Math.floor((notAfter - now) / DAY_MS)
    found.push({
      status: 'warning',
      message: `${cert} expires in ${days} ${days === 1 ? 'day' : 'days'}, on ${day(notAfter)}`,
      remedy,
    })
  }
  if (notBefore > now)
    found.push({ status: 'problem', message: `${cert} is not valid before ${day(notBefore)}: clients refuse it`, remedy })
  if (!isChainInOrder) {
    const fix = `in ${cert}, put each certificate before that of its issuer, then: ${reload}`
    found.push({ status: 'warning', message: `the certificates in ${cert} are out of order`, remedy: fix })
  }
  return found
}

async function coverage(loaded: LoadedConfig, reload: string): Promise<Verdict[]> {
  const { certificateUses, coversName } = await import('@svc/config')
  const byFile = new Map(loaded.certificates.map((certificate) => [certificate.cert, certificate]))
  const uncovered = new Map<string, Set<string>>()
  for (const { cert, names } of certificateUses(loaded.config, loaded.web)) {
    const covered = byFile.get(cert)?.names ?? []
    for (const name of names) {
      if (coversName(covered, name)) continue
      uncovered.set(cert, (uncovered.get(cert) ?? new Set()).add(name))
    }
  }
  return Array.from(uncovered, ([cert, names]): Verdict => {
    const listed = [...names].slice(0, MAX_LISTED).join(', ')
    const more = names.size > MAX_LISTED ? ` and ${names.size - MAX_LISTED} more` : ''
    const remedy = `order a certificate for these names too, put it into ${cert}, then: ${reload}`
    return { status: 'warning', message: `${cert} does not cover ${listed}${more}`, remedy }
  })
}

async function unreadable(subject: Subject, certificates: readonly Certificate[]): Promise<Verdict[]> {
  const { user } = subject
  const files = certificates.flatMap(({ cert, key }) => [cert, key])
  const forbidden = await forbiddenPaths(subject, files, 'r')
  if (forbidden === undefined)
    return [{ status: 'unknown', message: `run this as root or ${user.name} to see if the server can read the files` }]
  return forbidden.map((path): Verdict => {
    const word = shellWord(path)
    const remedy = `chgrp ${user.name} ${word} && chmod g+r ${word}; "namei -l ${word}" shows the directories above it, which need g+x`
    return { status: 'problem', message: `the user ${user.name} cannot read ${path}`, remedy }
  })
}

/** Certificates are valid for long enough, cover their hosts, and can be read by the server. */
export const certificatesCheck: Check = {
  name: 'certificates',
  run: async (subject) => {
    const { loaded, command, options } = subject
    if (loaded === undefined) return [{ status: 'unknown', message: 'the configuration, which names them, is not valid' }]
    const { certificates, config } = loaded
    const automatic: Verdict[] = config.tls.auto
      ? [{ status: 'unknown', message: 'automatic certificates: see GET /__svc/admin/api/certs of the running server' }]
      : []
    if (certificates.length === 0) {
      return automatic.length > 0 ? automatic : [{ status: 'ok', message: 'none is configured' }]
    }
    const reload = `${command} reload${options}`
    const now = Date.now()
    const found = [
      ...certificates.flatMap((certificate) => validity(certificate, now, reload)),
      ...(await coverage(loaded, reload)),
      ...(await unreadable(subject, certificates)),
    ]
    const sound: Verdict = {
      status: 'ok',
      message: `${certificates.length} valid for at least ${SOON_DAYS} days, with their keys`,
    }
    return [...(found.length > 0 ? found : [sound]), ...automatic]
  },
}
