import { availableParallelism, hostname } from 'node:os'
import { isatty } from 'node:tty'
import { deepFreeze } from '@svc/core'
import type { ConfigProblem, WebSpec } from '@svc/vhosts'
import { loadCertificates } from '../certificates/load-certificates.ts'
import type { LoadedCertificate } from '../certificates/read-certificate.ts'
import { checkConfig } from '../checks/check-config.ts'
import { checkWaf } from '../checks/check-waf.ts'
import { completeConfig, type MachineProperties } from '../schema/computed-defaults.ts'
import { configSchema, type ParsedConfig } from '../schema/config-schema.ts'
import { type SchemaNode, schemaTree } from '../schema/schema-tree.ts'
import type { Config, SiteConfig } from '../schema/types.ts'
import type { Origin } from '../source/document.ts'
import { overrideNotices } from '../source/env-overrides.ts'
import { normalizeValues } from '../source/normalize.ts'
import { followsFrom, pruneFaults } from '../source/prune.ts'
import { schemaFindings } from '../source/schema-findings.ts'
import { type ResolvedSecrets, resolveSecrets } from '../source/secrets.ts'
import type { Finding } from '../values/finding.ts'
import { type KeyPath, valueAt } from '../values/key-path.ts'
import { accessNotices } from './access-notices.ts'
import { buildSites } from './build-sites.ts'
import { chooseDirectories } from './choose-directories.ts'
import type { ConfigSource } from './config-source.ts'
import { fileNotices } from './file-notices.ts'
import { checkListen, checkVersions, engineOf, type ListenName, listenNames } from './listen-names.ts'
import { loadPlugins, type PluginSet } from './load-plugins.ts'
import { loadWeb, ruleSockets, withRuleUpstreams } from './load-web.ts'
import { type ReadDocument, readDocument } from './read-document.ts'

/** A configuration ready to be served. */
export interface LoadedConfig {
  readonly ok: true
  readonly config: Config
  readonly sites: readonly SiteConfig[]
  /** Absolute path of the directory for compiled modules. */
  readonly moduleDir: string
  /** Variables of the operating system that hold secrets of the server: the code of no site sees them. */
  readonly secretNames: readonly string[]
  /** Absolute paths of files that hold secrets of the server. */
  readonly secretFiles: readonly string[]
  /** Content of the vhost files. */
  readonly web: WebSpec
  /** Undefined: there is no `plugins.directory`. */
  readonly plugins: PluginSet | undefined
  /** The addresses to listen on. */
  readonly listen: readonly ListenName[]
  /** Every certificate that the configuration names, with its key. */
  readonly certificates: readonly LoadedCertificate[]
  /** Lines for the log or the terminal: not wrong, but worth knowing. */
  readonly notices: readonly string[]
  /** One line for each place of a directive in vhost files that has no effect; a notice sums them up. */
  readonly ignoredDirectives: readonly string[]
  /** Absolute paths of all files that were read: a change in one of them may change the configuration. */
  readonly files: readonly string[]
  /** Tells where a value of `config` comes from. */
  readonly originOf: (path: KeyPath) => Origin
}

/** A configuration, or all of its problems. */
export type LoadResult = LoadedConfig | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

const STANDARD_ERROR = 2

function hostFacts(): MachineProperties {
  return { cores: availableParallelism(), hostname: hostname(), isTerminal: isatty(STANDARD_ERROR) }
}

async function referToSecrets(read: ReadDocument, root: SchemaNode): Promise<ResolvedSecrets> {
  const shared = read.document.data.env
  const table = typeof shared === 'object' && shared !== null ? (shared as Record<string, unknown>) : {}
  const lookup = (name: string) => {
    const configured = table[name]
    return read.osVariables[name] ?? (typeof configured === 'string' ? configured : read.dotenv[name])
  }
  return resolveSecrets(read.document, root, lookup)
}

/** JavaScript gives `__proto__` another meaning than that of a name: the schema would drop it without a word. */
function impossibleNames(value: unknown, path: KeyPath): Finding[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]): Finding[] => {
    const own = [...path, Array.isArray(value) ? Number(key) : key]
    return key === '__proto__' ? [{ path: own, message: 'is no possible name' }] : impossibleNames(inner, own)
  })
}

async function resolveAll(
  read: ReadDocument,
  root: SchemaNode,
  source: ConfigSource,
  host: MachineProperties,
): Promise<LoadResult> {
  const { document } = read
  const secrets = await referToSecrets(read, root)
  normalizeValues(document, root)
  const early: Finding[] = [...read.findings, ...secrets.findings, ...impossibleNames(document.data, [])]
  const earlyPaths = early.map(({ path }) => path)
  const { parsed, findings, originalPath } = validate(root, document.data, earlyPaths)
  const known = [...early, ...findings]
  const refuse = (late: readonly Finding[], others: readonly ConfigProblem[] = []): LoadResult => ({
    ok: false,
    problems: inReadingOrder([...[...known, ...late].map((finding) => document.problem(finding)), ...others]),
  })
  if (parsed === undefined) return refuse([])

  const directories = await chooseDirectories(read, source)
  const completed = completeConfig(parsed, directories, host)
  const placeOf = (path: Finding['path']) => document.placeOf(originalPath(path))
  const standalone = source.standalone === undefined ? undefined : { ...source.standalone, dir: read.baseDir }
  const secretNames = new Set(secrets.variables)
  const isHeadGiven = valueAt(document.data, ['server', 'max_header_bytes']) !== undefined
  const vhosts = await loadWeb(completed, read.baseDir, placeOf, isHeadGiven)
  const config = isHeadGiven ? completed : withHeads(completed, vhosts.headerBytes)
  const built = await buildSites(config, { standalone, vhosts: vhosts.sites, osVariables: read.osVariables, secretNames })
  const certificates = await loadCertificates(config, vhosts.web, Date.now())
  const plugins = await loadPlugins(config.plugins.directory)
  const isListenGiven = valueAt(document.data, ['server', 'listen']) !== undefined
  const listen = listenNames(config, vhosts.web, isListenGiven)
  const checked = [
    ...checkConfig(config, vhosts.web, placeOf),
    ...(await checkWaf(config)),
    ...checkListen(config, vhosts.web, isListenGiven),
    ...checkVersions(config, vhosts.web, listen),
    ...certificates.findings,
    ...plugins.findings,
    ...built.findings,
  ]
  const knownPaths = known.map(({ path }) => path)
  const late = checked
    .map((finding) => ({ ...finding, path: originalPath(finding.path) }))
    .filter(({ path }) => !followsFrom(path, knownPaths))
  const ofVhosts = [...vhosts.problems, ...built.problems, ...certificates.problems]
  if (known.length > 0 || late.length > 0 || ofVhosts.length > 0) return refuse(late, ofVhosts)
  return deepFreeze({
    ok: true,
    config,
    sites: built.sites,
    moduleDir: directories.modules,
    secretNames: secrets.variables,
    secretFiles: [...secrets.literalFiles, ...secrets.files],
    plugins: plugins.set,
    web: withRuleUpstreams(vhosts.web, config),
    listen,
    certificates: certificates.certificates,
    notices: [
      ...noticesOf(config, listen),
      ...overrideNotices(root, read.osVariables, secrets.variables),
      ...directories.notices,
      ...(await fileNotices([...read.files, ...secrets.files, ...vhosts.files])),
      ...proofNotices(config, listen),
      ...limitNotices(config, listen),
      ...lostSiteNotices(config, built.sites),
      ...vhosts.notices,
      ...(await accessNotices([...vhosts.needs, ...ruleSockets(config, placeOf)])),
      ...certificates.notices,
    ],
    ignoredDirectives: vhosts.ignored.flatMap(({ name, reason, places }) =>
      places.map((place) => `${place}: "${name}" has no effect here: ${reason}`),
    ),
    files: [...read.files, ...vhosts.files, ...secrets.files, ...certificates.files, ...built.files],
    originOf: (path) => document.originOf(path),
  })
}

/**
 * Reads, checks and resolves a configuration. Never throws for mistakes of a user: every problem of all sources is in the result,
 * each with its place. Nothing is written to `process.env`.
 */
export async function loadConfig(source: ConfigSource, host: MachineProperties = hostFacts()): Promise<LoadResult> {
  const root = schemaTree()
  const read = await readDocument(source, root)
  return read.ok ? resolveAll(read, root, source, host) : read
}

/** A document after validation against the schema. */
interface Validated {
  /** The valid part, with defaults. Undefined when nothing can be made of it. */
  readonly parsed: ParsedConfig | undefined
  /** Schema violations, with paths in the whole document. */
  readonly findings: readonly Finding[]
  /** Leads from a path in `parsed` to the path in the whole document. */
  readonly originalPath: (path: KeyPath) => KeyPath
}

/** Checks data against the schema. Values at `faulty` paths are known to be wrong and left out. */
function validate(root: SchemaNode, data: unknown, faulty: readonly KeyPath[]): Validated {
  const known = pruneFaults(root, data, faulty)
  const first = configSchema.safeParse(known.data)
  if (first.success) return { parsed: first.data, findings: [], originalPath: known.originalPath }
  const found = schemaFindings(root, known.data, first.error.issues)
  const findings = found.map((finding) => ({ ...finding, path: known.originalPath(finding.path) }))
  const rest = pruneFaults(root, data, [...faulty, ...findings.map(({ path }) => path)])
  const second = configSchema.safeParse(rest.data)
  return { parsed: second.success ? second.data : undefined, findings, originalPath: rest.originalPath }
}

/** Vhost files decide how large the head of a request may be, where the configuration does not say. */
function withHeads(config: Config, bytes: number): Config {
  const { server } = config
  return bytes <= server.max_header_bytes ? config : { ...config, server: { ...server, max_header_bytes: bytes } }
}

/** Puts problems in the order of a reader: by file, then from top to bottom. */
function inReadingOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const files = [...new Set(problems.map(({ file }) => file))]
  return problems.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
}

/** Warns of objectives and rules that are for no request. */
function lostSiteNotices({ obs, waf }: Config, sites: readonly SiteConfig[]): string[] {
  const ids = new Set(sites.map(({ id }) => id))
  const isLost = ({ site }: { readonly site?: string | undefined }) => site !== undefined && !ids.has(site)
  return [
    ...obs.slos.filter(isLost).map(({ name, site }) => `the objective "${name}" counts no requests: there is no site "${site}"`),
    ...waf.rules
      .filter(isLost)
      .map(({ id, site }) => `the rule "${id}" of the firewall has no effect: there is no site "${site}"`),
  ]
}

/** Warns if automatic certificates cannot be issued. */
/** Clients of a unix socket have no address, unless a proxy names it: and no proxy on such a socket can be trusted by its address. */
function limitNotices({ rate_limit: { enabled } }: Config, listen: readonly ListenName[]): string[] {
  if (!enabled) return []
  return listen
    .filter(({ name }) => name.startsWith('unix:'))
    .map(({ name }) => `rate_limit does not apply to ${name}: clients of a unix socket have no address (use a TCP address)`)
}

function proofNotices({ tls }: Config, listen: readonly ListenName[]): string[] {
  if (!tls.auto || listen.some(({ isTls }) => !isTls)) return []
  return ['tls.auto is set but no address listens for plain HTTP, which is needed to verify hosts (set server.listen)']
}

/** Lists settings that are valid but probably not intended. */
function noticesOf(config: Config, listen: readonly ListenName[]): string[] {
  const notices: string[] = []
  if (config.admin.enabled && config.admin.users.length === 0) {
    notices.push('admin.enabled is true but there is no user: "svc config credentials create" prints an [[admin.users]] entry')
  }
  if (config.server.trusted_proxies.length > 0 && listen.some((name) => engineOf(name, config) === 'uws')) {
    notices.push('server.trusted_proxies is set: engine "node" is recommended behind a proxy, its parser is stricter')
  }
  return notices
}
