import { constants, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { unsafeReason } from '@svc/core'
import { type Directories, defaultDirectories, isInOwn, placeOf } from '../schema/directories.ts'
import { type KeyPath, valueAt } from '../values/key-path.ts'
import { type ConfigSource, canAccess } from './config-source.ts'
import type { ReadDocument } from './read-document.ts'

function textAt(read: ReadDocument, path: KeyPath): string | undefined {
  const value = valueAt(read.document.data, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The directories of an instance, and a line for the log where they are not in their usual place. */
interface ChosenDirectories extends Directories {
  readonly notices: readonly string[]
}

/** Returns the directories of an instance: configured ones, else the defaults for who runs it and where its file lies. */
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
  const defaults = defaultDirectories(inputs)
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
