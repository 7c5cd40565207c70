import type { BigIntStats } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Absolute paths below a site's directory, each with a signature of its state. */
export interface TreeSnapshot {
  readonly files: ReadonlyMap<string, string>
  /** Real directories that were read, as device and inode: another directory may have replaced the root. */
  readonly visited: ReadonlySet<string>
  /** The times of directories change when an entry is added, removed or renamed, not when a file is edited. */
  readonly directories: ReadonlyMap<string, string>
}

/** Absolute directories that the service writes to: they are no part of a site, wherever they lie. */
export type OwnDirectories = readonly string[]

interface Walk extends TreeSnapshot {
  readonly own: OwnDirectories
  readonly limits: SnapshotLimits
  readonly files: Map<string, string>
  readonly directories: Map<string, string>
  readonly visited: Set<string>
}

/** Never site code, and often huge. Names with a leading dot are skipped too. */
const SKIPPED = new Set(['node_modules', 'public'])
/** The same for the event watcher. */
export const ignoredGlobs: string[] = [...[...SKIPPED].flatMap((name) => [name, `**/${name}/**`]), '**/.*', '**/.*/**']
/** Bounds of a snapshot. */
interface SnapshotLimits {
  readonly files: number
  readonly directories: number
  /** Of one directory. */
  readonly entries: number
}

/** A larger site is watched up to these bounds. */
const LIMITS: SnapshotLimits = { files: 20_000, directories: 20_000, entries: 20_000 }
const MAX_DEPTH = 32

// With the change time: swapping a file for an older one changes inode and change time.
function signature(stats: BigIntStats): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

function look(path: string): Promise<BigIntStats | undefined> {
  return stat(path, { bigint: true }).catch(() => undefined)
}

/** Returns a bounded number of names in a directory. One that vanishes during the read counts as empty. */
async function namesIn(directory: string, max: number): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const { name } of await opendir(directory)) {
      if (names.length >= max) break
      names.push(name)
    }
  } catch {
    return []
  }
  // The order of the file system varies.
  return names.sort()
}

async function walk(directory: string, stats: BigIntStats, depth: number, found: Walk): Promise<void> {
  const identity = `${stats.dev}:${stats.ino}`
  if (depth > MAX_DEPTH || found.visited.has(identity) || found.visited.size >= found.limits.directories) return
  found.visited.add(identity)
  found.directories.set(directory, signature(stats))
  for (const name of await namesIn(directory, found.limits.entries)) {
    const path = join(directory, name)
    if (name.startsWith('.') || SKIPPED.has(name) || found.own.includes(path)) continue
    if (found.files.size >= found.limits.files) return
    const entry = await look(path)
    if (entry?.isDirectory() === true) await walk(path, entry, depth + 1, found)
    else if (entry !== undefined) found.files.set(path, signature(entry))
  }
}

/** Takes a snapshot of all files below a site's directory, links followed, each directory once. Never rejects. */
export async function snapshotTree(root: string, own: OwnDirectories, limits = LIMITS): Promise<TreeSnapshot> {
  const found: Walk = { own, limits, files: new Map(), directories: new Map(), visited: new Set() }
  const stats = await look(root)
  if (stats?.isDirectory() === true) await walk(root, stats, 0, found)
  return found
}

/** True if an entry was added or removed in any directory since the snapshot: far cheaper than another snapshot. */
export async function haveEntriesMoved(tree: TreeSnapshot): Promise<boolean> {
  for (const [path, state] of tree.directories) {
    const stats = await look(path)
    if (stats === undefined || signature(stats) !== state) return true
  }
  return false
}

/**
 * Checks some known files again. Resolves with the updated snapshot; undefined: the paths show more than edits, so only a new
 * snapshot can tell the changes.
 */
export async function lookAgain(tree: TreeSnapshot, paths: readonly string[]): Promise<TreeSnapshot | undefined> {
  const files = new Map(tree.files)
  for (const path of paths) {
    const stats = tree.files.has(path) ? await look(path) : undefined
    if (stats?.isFile() !== true) return undefined
    files.set(path, signature(stats))
  }
  return { ...tree, files }
}

/** Returns the paths of files that changed after `since`, in milliseconds of the wall clock. */
export function changedAfter(tree: TreeSnapshot, since: number): string[] {
  const sinceNs = BigInt(Math.floor(since)) * 1_000_000n
  const changeTime = (state: string) => BigInt(state.slice(state.lastIndexOf(':') + 1))
  return [...tree.files].flatMap(([path, state]) => (changeTime(state) > sinceNs ? [path] : []))
}

/** Returns the paths that were added, removed or changed between two snapshots. */
export function changedFiles(before: TreeSnapshot, after: TreeSnapshot): string[] {
  const changed: string[] = []
  for (const [path, state] of after.files) if (before.files.get(path) !== state) changed.push(path)
  for (const path of before.files.keys()) if (!after.files.has(path)) changed.push(path)
  return changed
}
