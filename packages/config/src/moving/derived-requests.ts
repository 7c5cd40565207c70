import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { type FilesSpec, type LocationSpec, locationsOf, type ServerNameSpec, type ServerSpec, type Template } from '@svc/vhosts'
import { sampleTexts } from './sample-pattern.ts'

/** A request that shows how a server answers. */
interface DerivedRequest {
  readonly host: string
  /** Path in its encoded form. */
  readonly target: string
}

const SAMPLES = 4
/** Entries of a directory that are looked at, and files of it that are requested. */
const MAX_ENTRIES = 200
const MAX_FILES = 6
const MISSING = 'svc-compare-missing'
/** Paths that say how a server treats the forms of a path. */
const USUAL = ['/', `/${MISSING}`, `/${MISSING}/`, '/index.html', '/index.php', '/favicon.ico', '//', '/./', '/a%20b', '/%2e%2e/']

/** Encodes bytes, one character for each, as a path. */
function encoded(bytes: string): string {
  return bytes.replace(/[^\w/.~!$&'()*+,;=:@-]/g, (char) => `%${(char.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')}`)
}

function hostsOf(spec: ServerNameSpec): string[] {
  if (spec.kind === 'pattern') return sampleTexts(spec.pattern.source, 1)
  const { name } = spec
  if (name === '' || name === '_') return []
  if (name.startsWith('.')) return [name.slice(1), `sample${name}`]
  return [name.replace('*', 'sample')]
}

function pathsOf({ match }: LocationSpec): string[] {
  if (match.kind === 'named') return []
  if (match.kind === 'pattern') {
    return sampleTexts(match.pattern.source, SAMPLES).map((text) => (text.startsWith('/') ? text : `/svc-compare${text}`))
  }
  const { path } = match
  const shorter = path.length > 1 && path.endsWith('/') ? [path.slice(0, -1)] : []
  return [path, `${path}${path.endsWith('/') ? '' : '/'}${MISSING}`, `${path}x`, ...shorter]
}

function rewrittenPaths({ rewrites }: Pick<LocationSpec, 'rewrites'>): string[] {
  return rewrites
    .flatMap((step) => (step.kind === 'rewrite' ? sampleTexts(step.pattern.source, 2) : []))
    .map((text) => (text.startsWith('/') ? text : `/svc-compare${text}`))
}

function constant(template: Template): string | undefined {
  return template.every((part) => typeof part === 'string') ? template.join('') : undefined
}

/** Some names of files of a directory, and of its directories with a final slash. Empty when it cannot be read. */
async function someEntries(dir: string): Promise<string[]> {
  const found: string[] = []
  try {
    let seen = 0
    for await (const entry of await opendir(dir)) {
      if (entry.isFile()) found.push(entry.name)
      else if (entry.isDirectory()) found.unshift(`${entry.name}/`)
      if (++seen >= MAX_ENTRIES) break
    }
  } catch {
    // The server may read it though this user may not: other requests tell.
    return []
  }
  const files = found.filter((name) => !name.endsWith('/')).slice(0, MAX_FILES)
  return [...files, ...found.filter((name) => name.endsWith('/')).slice(0, 2)]
}

async function filePaths(files: FilesSpec | undefined): Promise<string[]> {
  const dir = files === undefined ? undefined : constant(files.dir)
  if (files === undefined || dir === undefined || (files.kind === 'alias' && files.prefix === '')) return []
  const names = await someEntries(Buffer.from(dir, 'latin1').toString('utf8'))
  const prefix = files.kind === 'alias' ? files.prefix : '/'
  return names.map((name) => join(prefix, Buffer.from(name).toString('latin1')))
}

async function pathsOfServer(server: ServerSpec): Promise<string[]> {
  const locations = locationsOf(server)
  const files = await Promise.all([server.fallback, ...locations].map((settings) => filePaths(settings.files)))
  const written = [
    ...locations.flatMap((location) => [...pathsOf(location), ...rewrittenPaths(location)]),
    ...rewrittenPaths(server),
    ...files.flat(),
  ]
  return [...new Set([...USUAL, ...written.map(encoded)])]
}

/** Derives requests from the servers of one listen address: their names, kinds of locations, rewrites and files. */
export async function deriveRequests(servers: readonly ServerSpec[]): Promise<DerivedRequest[]> {
  const requests: DerivedRequest[] = []
  for (const server of servers) {
    const hosts = server.names.flatMap(hostsOf)
    const [first = 'svc-compare.invalid', ...others] = hosts.length === 0 ? ['svc-compare.invalid'] : hosts
    for (const target of await pathsOfServer(server)) requests.push({ host: first, target })
    for (const host of others) requests.push({ host, target: '/' })
  }
  return requests
}
