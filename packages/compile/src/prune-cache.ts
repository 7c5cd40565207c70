import { access, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '@svc/core'
import { ModuleCache, type ModuleCacheDirs } from './module-cache.ts'

/** Age below which a file stays even when no entry refers to it: an entry may be about to. */
const MIN_AGE_MS = 3_600_000

/** Numbers of removed and remaining files of a run. */
export interface PruneReport {
  readonly removed: number
  readonly kept: number
}

/** How a run is made. */
interface PruneOptions {
  readonly dirs: ModuleCacheDirs
  /** True if a site of this instance may use the source at an absolute path. */
  readonly isUsed: (path: string) => boolean
  /** Milliseconds of the wall clock. */
  readonly now: number
}

/**
 * Removes from the caches on disk what no site uses: entries of sources that are gone or belong to no site, or of another
 * version of the compiler, compiled modules and bytecode that no entry names any more, and temporary files of writers that
 * died. Files younger than an hour stay. Writers and readers may be at work meanwhile.
 * @throws the system's error when a directory can be opened but not read
 */
export async function pruneCache({ dirs, isUsed, now }: PruneOptions): Promise<PruneReport> {
  const cache = new ModuleCache(dirs)
  const hashes = new Set<string>()
  const index = await sweep(dirs.index, now, async (name) => {
    if (name.startsWith('.')) return true
    // The next change of the site replaces its graph; a missing one is rebuilt.
    if (name.endsWith('.graph')) return false
    const entry = cache.entryIn(name)
    if (entry === undefined || !isUsed(entry.path) || !(await isThere(entry.path))) return false
    hashes.add(entry.hash)
    return true
  })
  const modules = await sweep(dirs.modules, now, (name) => hashes.has(name.replace(/\.(?:js|map)$/, '')))
  const bytecode = await sweep(dirs.bytecode, now, (name) => hashes.has(name))
  const total = (key: keyof PruneReport) => index[key] + modules[key] + bytecode[key]
  return { removed: total('removed'), kept: total('kept') }
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

/** Removes the old files of a directory that are not kept. One that is not there is empty. */
async function sweep(directory: string, now: number, keeps: (name: string) => boolean | Promise<boolean>): Promise<PruneReport> {
  let removed = 0
  let kept = 0
  const entries = await opendir(directory).catch((error) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  for await (const entry of entries) {
    const path = join(directory, entry.name)
    if (!entry.isFile() || (await keeps(entry.name)) || !(await isOld(path, now))) {
      kept++
      continue
    }
    await rm(path, { force: true })
    removed++
  }
  return { removed, kept }
}

/** A file that is gone counts as young: there is nothing to delete. */
async function isOld(path: string, now: number): Promise<boolean> {
  return await stat(path).then(
    ({ ctimeMs }) => now - ctimeMs > MIN_AGE_MS,
    () => false,
  )
}
