import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import type { Config } from '@svc/config'
import { codeOf } from '@svc/core'
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

/** A source of a release. */
export interface ReleaseSource {
  /** Without links. */
  readonly path: string
  readonly kind: 'directory' | 'archive'
  /** True if the site may be served from the directory itself: only the operator may replace the target of its path. */
  readonly isInPlace: boolean
  /** Of the checked file or directory. */
  readonly handle: FileHandle
}

/** Not blocking: opening a FIFO returns at once. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Opens a source, which must lead into a directory that releases may come from after all links are resolved. The caller closes the
 * handle.
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
  if (path === undefined) throw new SupervisorError('SOURCE_INVALID', `${source} does not exist`)
  const handle = await open(path, OPEN_FLAGS).catch((cause) => {
    throw new SupervisorError('SOURCE_INVALID', `${source} cannot be opened: ${codeOf(cause)}`, { cause })
  })
  try {
    // Its path may have been replaced by a link since it was resolved.
    const opened = await readlink(`/proc/self/fd/${handle.fd}`)
    if (!allowed.some((directory) => isInside(opened, directory)))
      throw new SupervisorError('SOURCE_NOT_ALLOWED', { source, allowed: named.join(', ') })
    const incoming = await real(incomingDir(stateDir))
    const isInPlace = incoming === undefined || !isInside(opened, incoming)
    return { path, kind: kindOf(await handle.stat(), source, path), isInPlace, handle }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function kindOf(info: Stats, source: string, path: string): ReleaseSource['kind'] {
  if (info.isDirectory()) return 'directory'
  if (info.isFile() && /\.(?:tar\.gz|tgz)$/.test(path)) return 'archive'
  throw new SupervisorError('SOURCE_INVALID', `${source} is neither a directory nor a .tar.gz`)
}
