import { constants, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { unsafeReason } from '@svc/core'
import { type Directories, defaultDirectories, isInOwn, placeOf } from '../schema/directories.ts'
import type { Variables } from '../source/env-overrides.ts'
import { type KeyPath, valueAt } from '../values/key-path.ts'
import { type ConfigSource, canAccess } from './config-source.ts'
import type { ReadDocument } from './read-document.ts'

function textAt(read: ReadDocument, path: KeyPath): string | undefined {
  const value = valueAt(read.document.data, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Variables in which systemd names the directories that it has made for a service. */
const UNIT_VARIABLES = { state: 'STATE_DIRECTORY', run: 'RUNTIME_DIRECTORY', cache: 'CACHE_DIRECTORY' } as const

/**
 * Returns the directories of the systemd unit whose main process this is. Programs that a unit starts, such as a shell, inherit the
 * variables, but other directories are theirs.
 */
export function unitDirectories(env: Variables, pid: number): Partial<Omit<Directories, 'modules'>> {
  if (env['SYSTEMD_EXEC_PID'] !== String(pid)) return {}
  const named = Object.entries(UNIT_VARIABLES).map(([use, variable]) => [use, env[variable]])
  // A unit may name several directories of a kind, divided by colons: none of them is meant.
  return Object.fromEntries(named.filter(([, path]) => path?.startsWith('/') === true && !path.includes(':')))
}

/** The directories of an instance, and a line for the log where they are not in their usual place. */
interface ChosenDirectories extends Directories {
  readonly notices: readonly string[]
}

/** Returns the directories of an instance: configured ones, else those of its unit, else the defaults for its user and its file. */
export async function chooseDirectories(read: ReadDocument, source: ConfigSource): Promise<ChosenDirectories> {
  // One directory has one instance, whatever path leads to it. A missing one is reported elsewhere.
  const baseDir = await realpath(read.baseDir).catch(() => read.baseDir)
  const reason = await unsafeReason(baseDir)
  const { isRoot } = source
  const isBaseDirSafe = reason === undefined
  /** As configured, below the real path of the directory. */
  const configured = (path: KeyPath) => {
    const text = textAt(read, path)
    return text === undefined || !isInOwn(text, read.baseDir) ? text : join(baseDir, relative(read.baseDir, text))
  }
  const inputs = {
    isRoot,
    uid: process.getuid?.() ?? 0,
    isStandalone: source.standalone !== undefined,
    baseDir,
    isBaseDirWritable: await canAccess(baseDir, constants.W_OK),
    isBaseDirSafe,
    stateDir: configured(['server', 'state_dir']),
  }
  const placed = (path: string | undefined) => (path === undefined ? undefined : placeOf(path, inputs))
  const defaults = {
    ...defaultDirectories(inputs),
    ...(inputs.isStandalone ? {} : unitDirectories(source.env, process.pid)),
  }
  const chosen = {
    state: placed(inputs.stateDir) ?? defaults.state,
    run: placed(configured(['server', 'run_dir'])) ?? defaults.run,
    cache: placed(configured(['cache', 'dir'])) ?? defaults.cache,
    modules: defaults.modules,
  }
  const hasMoved = chosen.modules !== defaultDirectories({ ...inputs, isBaseDirSafe: true }).modules
  return {
    ...chosen,
    notices: hasMoved
      ? [`no cache or state is kept in ${baseDir}: ${reason}; it lies in ${dirname(dirname(chosen.modules))}`]
      : [],
  }
}
