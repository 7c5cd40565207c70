import { access, constants, realpath } from 'node:fs/promises'
import { type Directories, defaultDirectories } from '../schema/directories.ts'
import { type KeyPath, valueAt } from '../source/key-path.ts'
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

/** Returns the directories of an instance: configured ones, else the defaults for who runs it and where its file lies. */
export async function chooseDirectories(read: ReadDocument, source: ConfigSource): Promise<Directories> {
  // One directory has one instance, whatever path leads to it. What is missing is reported elsewhere.
  const baseDir = await realpath(read.baseDir).catch(() => read.baseDir)
  const defaults = defaultDirectories({
    isRoot: source.isRoot,
    uid: process.getuid?.() ?? 0,
    isStandalone: source.standalone !== undefined,
    baseDir,
    isBaseDirWritable: await isWritable(baseDir),
    stateDir: textAt(read, ['server', 'state_dir']),
  })
  return {
    state: textAt(read, ['server', 'state_dir']) ?? defaults.state,
    run: textAt(read, ['server', 'run_dir']) ?? defaults.run,
    cache: textAt(read, ['cache', 'dir']) ?? defaults.cache,
    modules: defaults.modules,
  }
}
