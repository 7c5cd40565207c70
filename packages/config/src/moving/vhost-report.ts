import { dirname } from 'node:path'
import {
  type ConfigProblem,
  locationsOf,
  type NeededPath,
  type ReadWeb,
  readWeb,
  type ServerNameSpec,
  type ServerSpec,
  wholeOf,
} from '@svc/vhosts'
import { type CertificateFiles, certificateKey, readCertificate } from '../certificates/read-certificate.ts'

/** A server block in the words of an operator. */
interface ServerReport {
  /** Names as written; "~" begins a pattern. */
  readonly names: readonly string[]
  readonly listen: readonly { readonly address: string; readonly tls: boolean; readonly default: boolean }[]
  readonly locations: number
  /** Path of its certificate; null: none. */
  readonly certificate: string | null
  readonly site: string
  readonly place: string
}

/** A certificate that servers name. */
interface CertificateReport extends CertificateFiles {
  readonly names: readonly string[]
  /** Time of its end in ISO 8601; null: it cannot be read. */
  readonly expires: string | null
  /** Reason why it is unusable; null: it can be used. */
  readonly problem: string | null
}

/** Everything that vhost files contain, including mistakes. */
export interface VhostReport {
  readonly servers: readonly ServerReport[]
  readonly certificates: readonly CertificateReport[]
  readonly upstreams: readonly { readonly name: string; readonly servers: readonly string[] }[]
  /** Directives that change nothing here. */
  readonly ignored: ReadWeb['ignored']
  readonly problems: readonly ConfigProblem[]
  /** Paths that requests will need. */
  readonly needs: readonly NeededPath[]
  /** All vhost files that were read. */
  readonly files: readonly string[]
}

/** Certificates that are read at once. */
const MAX_PARALLEL = 16

function nameOf(spec: ServerNameSpec): string {
  if (spec.kind === 'pattern') return `~${spec.pattern.source}`
  return spec.name === '' ? '""' : Buffer.from(spec.name, 'latin1').toString('utf8')
}

function reportServer(server: ServerSpec): ServerReport {
  const { names, listen, certificates, site, place } = server
  return {
    names: names.map(nameOf),
    listen: listen.map(({ address, isTls, isDefault }) => ({ address, tls: isTls, default: isDefault })),
    locations: locationsOf(server).length,
    certificate: certificates.length === 0 ? null : certificates.map(({ cert }) => cert).join(', '),
    site,
    place,
  }
}

async function reportCertificate(files: CertificateFiles): Promise<CertificateReport> {
  const { cert, key, passwords } = files
  const read = await readCertificate({ cert, key, passwords })
  if (!Array.isArray(read)) {
    const { names, notAfter } = read
    return { cert, key, names, expires: new Date(notAfter).toISOString(), problem: null }
  }
  const problem = read.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`)).join('; ')
  return { cert, key, names: [], expires: null, problem }
}

async function reportCertificates(servers: readonly ServerSpec[]): Promise<CertificateReport[]> {
  const pairs = servers.flatMap(({ certificates }) => certificates)
  const unique = [...new Map(pairs.map((pair) => [certificateKey(pair), pair])).values()]
  const reports: CertificateReport[] = []
  const next = unique.entries()
  const work = async () => {
    for (const [index, pair] of next) reports[index] = await reportCertificate(pair)
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL }, work))
  return reports
}

/** Reads vhost files as `server.vhosts` would, without a configuration around them. Never throws, whatever is in them. */
export function readVhosts(glob: string): Promise<ReadWeb> {
  const others = { hosts: [], taken: [], hasCertificates: false, engine: 'uws', engineTls: 'node' } as const
  const surroundings = { ...others, maxHeaderBytes: undefined }
  return readWeb({ globs: [{ glob, place: wholeOf(glob) }], baseDir: dirname(glob), surroundings })
}

/** Reads vhost files and tells what is in them. */
export async function reportVhosts(glob: string): Promise<VhostReport> {
  const { web, ignored, problems, needs, files } = await readVhosts(glob)
  return {
    servers: web.servers.map(reportServer),
    certificates: await reportCertificates(web.servers),
    upstreams: web.upstreams.map(({ name, servers }) => ({ name, servers: servers.map(({ address }) => address) })),
    ignored,
    problems,
    needs,
    files,
  }
}
