import { createHash } from 'node:crypto'
import { dirname, join, relative } from 'node:path'

/** The name of the directory that an instance makes beside its config file. No socket lies in it. */
export const OWN_NAME = '.svc'

/** Inputs of the default directories. */
interface DirectoryInputs {
  readonly isRoot: boolean
  readonly isStandalone: boolean
  /** User id of the process. */
  readonly uid: number
  /** Directory of the config file, or of the site in standalone mode, without symbolic links. */
  readonly baseDir: string
  readonly isBaseDirWritable: boolean
  /** No other user can replace the content of `baseDir`. */
  readonly isBaseDirSafe: boolean
  /** `server.state_dir`, when it is configured. */
  readonly stateDir: string | undefined
}

/** Absolute directories of an instance. */
export interface Directories {
  readonly state: string
  readonly run: string
  readonly cache: string
  /** Compiled modules by content. No key of the configuration names it. */
  readonly modules: string
}

const systemDirectories: Omit<Directories, 'modules'> = { state: '/var/lib/svc', run: '/run/svc', cache: '/var/cache/svc' }
/** For standalone sites that root serves from directories of other users, or that cannot be written. */
const STANDALONE_STATE = '/var/lib/svc-standalone'

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/**
 * Returns the directory for the sockets of an instance that keeps its files in `own`: a project's tools read its directory, and
 * many of them fail at a socket. The place depends on nothing but user and path (TMPDIR and XDG_RUNTIME_DIR differ between a
 * terminal and a service, and the latter goes with the last session), so that the other commands find it again.
 */
export function socketDirectory(own: string, uid: number): string {
  return join('/tmp', `svc-${uid}-${shortHash(own)}`)
}

/** True for a configured directory that is `.svc` beside the config file, or lies in it. */
export function isInOwn(path: string, baseDir: string): boolean {
  const own = join(baseDir, OWN_NAME)
  return path === own || path.startsWith(`${own}/`)
}

/**
 * Returns the place of a configured directory. Root keeps nothing where another user could replace it: the place of `.svc` is then
 * the one that a standalone site would have.
 */
export function placeOf(
  path: string,
  { isRoot, isBaseDirSafe, baseDir }: Pick<DirectoryInputs, 'isRoot' | 'isBaseDirSafe' | 'baseDir'>,
): string {
  if (!isRoot || isBaseDirSafe || !isInOwn(path, baseDir)) return path
  return join(STANDALONE_STATE, shortHash(baseDir), relative(join(baseDir, OWN_NAME), path))
}

/** Returns the directory of an instance for everything that is not configured, if that is not the place of the system. */
function ownDirectory({ isRoot, isStandalone, baseDir, stateDir }: DirectoryInputs): string {
  const keepsOwn = stateDir === undefined ? isStandalone : isInOwn(stateDir, baseDir)
  if (isRoot && keepsOwn) return join(STANDALONE_STATE, shortHash(baseDir))
  return join(stateDir ?? systemDirectories.state, OWN_NAME)
}

/**
 * Chooses the directories that are not configured: those of the system for root, else `.svc/` beside the config file, or in
 * the state directory where that place is not writable or belongs to /etc. A standalone site keeps everything in its own
 * `.svc/`, for every user, so that two of them never meet. If another user could replace `.svc/`, it lies elsewhere too, if
 * there is a place: the state directory, or for root one of its own. An instance of root whose `server.state_dir` lies in `.svc` has
 * its sockets where that of another user has them.
 */
export function defaultDirectories(inputs: DirectoryInputs): Directories {
  const { isRoot, isStandalone, uid, baseDir, stateDir } = inputs
  const hasOtherPlace = isRoot || stateDir !== undefined
  const isBeside = inputs.isBaseDirWritable && !`${baseDir}/`.startsWith('/etc/') && (inputs.isBaseDirSafe || !hasOtherPlace)
  const own = isBeside ? join(baseDir, OWN_NAME) : ownDirectory(inputs)
  const modules = join(own, 'cache/modules')
  if (isRoot && !isStandalone) {
    const keepsOwn = stateDir !== undefined && isInOwn(stateDir, baseDir)
    return { ...systemDirectories, ...(keepsOwn ? { run: socketDirectory(join(baseDir, OWN_NAME), uid) } : {}), modules }
  }
  const isInState = !isBeside && own.endsWith(`/${OWN_NAME}`)
  const state = isInState ? dirname(own) : join(own, 'state')
  const run = isInState ? join(state, 'run') : socketDirectory(join(baseDir, OWN_NAME), uid)
  return { state, run, cache: join(own, 'cache'), modules }
}
