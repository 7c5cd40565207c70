import { lstat, realpath, stat } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import type { Config } from '@svc/config'
import { SupervisorError } from '@svc/processes'
import { incomingDir } from './incoming.ts'

function isInside(path: string, directory: string): boolean {
  const inner = relative(directory, path)
  return inner !== '' && inner !== '..' && !inner.startsWith(`..${sep}`)
}

/** True if a missing path would be inside of a directory: no link on the way, not even a dangling one, can lead elsewhere. */
async function wouldBeInside(path: string, directory: string): Promise<boolean> {
  if (!isInside(path, directory)) return false
  for (let at = path; at !== directory; at = dirname(at)) {
    const info = await lstat(at).catch(() => undefined)
    if (info?.isSymbolicLink()) return false
  }
  return true
}

/** A source of a release without links. */
interface ReleaseSource {
  readonly path: string
  readonly kind: 'directory' | 'archive'
}

/**
 * Follows the links of a source, which must lead into a directory that releases may come from.
 * @throws SOURCE_NOT_ALLOWED, SOURCE_INVALID
 */
export async function findSource(
  config: Pick<Config, 'server' | 'deploy'>,
  source: string,
  tenant: string | undefined,
): Promise<ReleaseSource> {
  const stateDir = config.server.state_dir
  const named = (tenant === undefined ? [...config.deploy.sources, incomingDir(stateDir)] : [incomingDir(stateDir, tenant)]).map(
    (directory) => resolve(directory),
  )
  const real = async (path: string) => await realpath(path).catch(() => undefined)
  const allowed = (await Promise.all(named.map(real))).filter((path) => path !== undefined)
  // The parts ".." are those of the name, whatever links it has.
  const lexical = resolve(source)
  const path = await real(lexical)
  // A path that does not exist is judged by its name: the answer must not tell what there is elsewhere.
  const isAllowed =
    path === undefined
      ? (await Promise.all(named.map((directory) => wouldBeInside(lexical, directory)))).includes(true)
      : allowed.some((directory) => isInside(path, directory))
  if (!isAllowed) throw new SupervisorError('SOURCE_NOT_ALLOWED', { source, allowed: named.join(', ') })
  const info = path === undefined ? undefined : await stat(path).catch(() => undefined)
  if (path === undefined || info === undefined) throw new SupervisorError('SOURCE_INVALID', `${source} does not exist`)
  if (info.isDirectory()) return { path, kind: 'directory' }
  if (info.isFile() && /\.(?:tar\.gz|tgz)$/.test(path)) return { path, kind: 'archive' }
  throw new SupervisorError('SOURCE_INVALID', `${source} is neither a directory nor a .tar.gz`)
}
