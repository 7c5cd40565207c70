import { realpathSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { ImportGraph } from './import-graph.ts'
import { type IndexEntry, ModuleCache, type ModuleCacheDirs } from './module-cache.ts'

/** Names that the caches give their files; nothing else is touched. */
const ownName = /^[0-9a-f]{64}(?:\.json|\.graph|\.js|\.map)?(?:\.[0-9a-f-]+\.tmp)?$/
/** So many files at once are looked at. */
const BATCH = 64

/** Selects modules by path or directory; without both, all of them. */
interface ModuleSelection {
  readonly paths?: readonly string[] | undefined
  /** All modules below it. */
  readonly dir?: string | undefined
}

/**
 * Removes compiled modules from disk: of the index, the compiled sources with their maps, and the bytecode. With `paths` their transitive
 * dependents go too. Several hosts may do so at the same time.
 * @returns how many modules this call has removed
 */
export async function forgetModules(dirs: ModuleCacheDirs, purge: ModuleSelection): Promise<number> {
  const cache = new ModuleCache(dirs)
  const entries = await indexEntries(cache, dirs.index)
  const meant = [...entries.values()].filter(({ path }) => moduleFilter(purge)(path)).map(({ path }) => path)
  const graph = new ImportGraph(cache)
  const gone = purge.paths === undefined ? new Set(meant) : await graph.dependentsIn(entries.values(), [...meant, ...purge.paths])
  let count = 0
  for (const [name, { path, hash }] of entries) {
    if (!gone.has(path)) continue
    if (await isRemoved(join(dirs.index, name))) count++
    await isRemoved(join(dirs.modules, `${hash}.js`))
    await isRemoved(join(dirs.modules, `${hash}.map`))
    await isRemoved(join(dirs.bytecode, hash))
  }
  if (purge.paths === undefined && purge.dir === undefined) {
    // Also what no entry names any more.
    for (const dir of [dirs.index, dirs.modules, dirs.bytecode]) await empty(dir)
  }
  return count
}

async function indexEntries(cache: ModuleCache, directory: string): Promise<Map<string, IndexEntry>> {
  const names = (await namesIn(directory)).filter((name) => name.endsWith('.json'))
  const found = new Map<string, IndexEntry>()
  for (const [at, name] of names.entries()) {
    const entry = cache.entryIn(name)
    if (entry !== undefined) found.set(name, entry)
    // Other requests of the process come in between.
    if (at % BATCH === BATCH - 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return found
}

async function empty(directory: string): Promise<void> {
  for (const name of await namesIn(directory)) await isRemoved(join(directory, name))
}

async function namesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter((name) => ownName.test(name))
}

/** True if this call has removed it. */
async function isRemoved(file: string): Promise<boolean> {
  return await unlink(file).then(
    () => true,
    () => false,
  )
}

/** Module ids are real paths. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // The file is gone; its compiled form may still be there.
    return path
  }
}

/** Returns a test of module ids for a selection, without the dependents of the selected modules. */
export function moduleFilter({ paths, dir }: ModuleSelection): (id: string) => boolean {
  if (paths !== undefined) {
    const wanted = new Set(paths.flatMap((path) => [path, realPath(path)]))
    return (id) => wanted.has(id)
  }
  if (dir === undefined) return () => true
  const bases = [dir, realPath(dir)].map((base) => (base.endsWith(sep) ? base : base + sep))
  return (id) => bases.some((base) => id.startsWith(base))
}
