import { access, constants, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { unsafeReason } from '@svc/core'
import { type Directories, defaultDirectories } from '../schema/directories.ts'
import { type KeyPath, valueAt } from '../values/key-path.ts'
import type { ConfigSource } from './config-source.ts'
import type { ReadDocument } from './read-document.ts'

async function isWritable(dir: string): Promise<boolean> {
  return access(dir, constants.W_OK).then(
    () => true,
    () => false,
  )
}

function textAt(read: ReadDocument, path: KeyPath): string | undefined {
  const value = valueAt(read.document.data, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The directories of an instance, and a line for the log where they are not in their usual place. */
export interface ChosenDirectories extends Directories {
  readonly notices: readonly string[]
}

/** Returns the directories of an instance: configured ones, else the defaults for who runs it and where its file lies. */
export async function chooseDirectories(read: ReadDocument, source: ConfigSource): Promise<ChosenDirectories> {
  // One directory has one instance, whatever path leads to it. What is missing is reported elsewhere.
  const baseDir = await realpath(read.baseDir).catch(() => read.baseDir)
  const reason = await unsafeReason(baseDir)
  const facts = {
    isRoot: source.isRoot,
    uid: process.getuid?.() ?? 0,
    isStandalone: source.standalone !== undefined,
    baseDir,
    isBaseDirWritable: await isWritable(baseDir),
    isBaseDirSafe: reason === undefined,
    stateDir: textAt(read, ['server', 'state_dir']),
  }
  const defaults = defaultDirectories(facts)
  const hasMoved = defaults.modules !== defaultDirectories({ ...facts, isBaseDirSafe: true }).modules
  return {
    state: textAt(read, ['server', 'state_dir']) ?? defaults.state,
    run: textAt(read, ['server', 'run_dir']) ?? defaults.run,
    cache: textAt(read, ['cache', 'dir']) ?? defaults.cache,
    modules: defaults.modules,
    notices: hasMoved
      ? [`no cache or state is kept in ${baseDir}: ${reason}; it lies in ${dirname(dirname(defaults.modules))}`]
      : [],
  }
}
