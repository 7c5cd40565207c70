import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** `sun_path` of Linux holds 108 bytes with the final NUL; socket names of ours take up to 32 of them. */
export const MAX_RUN_DIR_BYTES = 75

/** What the default directories depend on. */
export interface DirectoryFacts {
  readonly isRoot: boolean
  readonly isStandalone: boolean
  /** User id of the process. */
  readonly uid: number
  /** Directory of the config file, or of the site in standalone mode, without symbolic links. */
  readonly baseDir: string
  readonly isBaseDirWritable: boolean
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

/**
 * Returns `.svc/run`, or, where sockets would not fit below that path, a directory of `/tmp` named after it. The place depends
 * on nothing but user and path (TMPDIR and XDG_RUNTIME_DIR differ between a terminal and a service), so that the other commands
 * find it again.
 */
function runDirectoryIn(own: string, uid: number): string {
  const run = join(own, 'run')
  if (Buffer.byteLength(run) <= MAX_RUN_DIR_BYTES) return run
  return join('/tmp', `svc-${uid}-${createHash('sha256').update(run).digest('hex').slice(0, 16)}`)
}

/**
 * Chooses the directories that are not configured: those of the system for root, else `.svc/` beside the config file, or in
 * the state directory where that place is not writable or belongs to /etc. A standalone site keeps everything in its own
 * `.svc/`, whoever runs it, so that two of them never meet.
 */
export function defaultDirectories(facts: DirectoryFacts): Directories {
  const isBeside = facts.isBaseDirWritable && !`${facts.baseDir}/`.startsWith('/etc/')
  const own = join(isBeside ? facts.baseDir : (facts.stateDir ?? systemDirectories.state), '.svc')
  const modules = join(own, 'cache/modules')
  if (facts.isRoot && !facts.isStandalone) return { ...systemDirectories, modules }
  const state = isBeside ? join(own, 'state') : (facts.stateDir ?? systemDirectories.state)
  return { state, run: runDirectoryIn(own, facts.uid), cache: join(own, 'cache'), modules }
}
