import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigProblem } from '@svc/vhosts'
import { OWN_NAME, socketDirectory } from '../schema/directories.ts'
import { schemaTree } from '../schema/schema-tree.ts'
import { normalizeValues } from '../source/normalize.ts'
import { parseTomlStart } from '../source/parse-toml.ts'
import { valueAt } from '../values/key-path.ts'
import { chooseDirectories } from './choose-directories.ts'
import { type ConfigSource, canAccess, findConfigFile } from './config-source.ts'
import { type ReadDocument, readDocument } from './read-document.ts'

/** In the run directory of every running instance. */
const CONTROL_SOCKET = 'control.sock'

/** The directory of the pid file and sockets of an instance, or the problems that hide it. */
type RunDirectory =
  | { readonly ok: true; readonly dir: string }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

/**
 * Finds the run directory of the instance that a source configures. Problems elsewhere in the file do not matter, so that a
 * running server can be reached while its file is being changed; not even a mistake of syntax, if it comes later in the file.
 * Without a config file there may still be a standalone instance of the current directory.
 */
export async function findRunDirectory(source: ConfigSource): Promise<RunDirectory> {
  if (source.standalone !== undefined || (await findConfigFile(source)) !== undefined) return runDirectoryOf(source)
  const here = await runDirectoryOf({ ...source, standalone: { dir: source.cwd, production: false } })
  if (here.ok && ((await canAccess(here.dir)) || (await canAccess(join(source.cwd, OWN_NAME))))) return here
  return runDirectoryOf(source)
}

async function runDirectoryOf(source: ConfigSource): Promise<RunDirectory> {
  const root = schemaTree()
  const read = await readDocument(source, root, parseTomlStart)
  if (!read.ok) return read
  normalizeValues(read.document, root)
  const { run } = await chooseDirectories(read, source)
  const isOther = source.isRoot && !(await canAccess(join(run, CONTROL_SOCKET)))
  const other = isOther ? await runDirectoryOfOwner(read) : undefined
  return { ok: true, dir: other ?? run }
}

/**
 * Returns the run directory of the server that the owner of `.svc` runs, for root, whose own server would have another one.
 * Undefined: the configuration names one, or there is none.
 */
async function runDirectoryOfOwner(read: ReadDocument): Promise<string | undefined> {
  if (valueAt(read.document.data, ['server', 'run_dir']) !== undefined) return undefined
  const own = join(await realpath(read.baseDir).catch(() => read.baseDir), OWN_NAME)
  const { uid } = (await lstat(own).catch(() => undefined)) ?? {}
  if (uid === undefined) return undefined
  const dir = socketDirectory(own, uid)
  // In /tmp another user can have made a directory of this name.
  const isTheirs = (await lstat(dir).catch(() => undefined))?.uid === uid
  return isTheirs && (await canAccess(join(dir, CONTROL_SOCKET))) ? dir : undefined
}
