import type { BigIntStats } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Absolute paths below a site's directory, and what tells one state of them from another. */
export interface TreeSnapshot {
  readonly files: ReadonlyMap<string, string>
  /** Real directories that were read, as device and inode: another one may have taken the place of the root. */
  readonly visited: ReadonlySet<string>
  /** The times of directories change when an entry is added, removed or renamed, not when a file is edited. */
  readonly directories: ReadonlyMap<string, string>
}

/** Absolute directories that are no part of a site wherever they lie: those that the service itself writes into. */
export type OwnDirectories = readonly string[]

interface Walk extends TreeSnapshot {
  readonly own: OwnDirectories
  readonly limits: SnapshotLimits
  readonly files: Map<string, string>
  readonly directories: Map<string, string>
  readonly visited: Set<string>
}

/** Never site code, and often huge. Names that begin with a dot are left out too. */
const SKIPPED = new Set(['node_modules', 'public'])
/** The same for a watcher by events. */
export const ignoredGlobs: string[] = [...[...SKIPPED].flatMap((name) => [name, `**/${name}/**`]), '**/.*', '**/.*/**']
/** How much of a site is looked at. */
interface SnapshotLimits {
  readonly files: number
  readonly directories: number
  /** Of one directory. */
  readonly entries: number
}

/** A site with more is watched up to this. */
const LIMITS: SnapshotLimits = { files: 20_000, directories: 20_000, entries: 20_000 }
const MAX_DEPTH = 32

// The change time too: a file that is swapped for an older one keeps neither inode nor change time.
function signature(stats: BigIntStats): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

function look(path: string): Promise<BigIntStats | undefined> {
  return stat(path, { bigint: true }).catch(() => undefined)
}

/** Names in a directory, a bounded number of them. One that vanishes while it is read is an empty one. */
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
  // The order of the file system is not the same each time.
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

/** Looks at all files below a site's directory, links followed, each directory once. Never rejects. */
export async function snapshotTree(root: string, own: OwnDirectories, limits = LIMITS): Promise<TreeSnapshot> {
  const found: Walk = { own, limits, files: new Map(), directories: new Map(), visited: new Set() }
  const stats = await look(root)
  if (stats?.isDirectory() === true) await walk(root, stats, 0, found)
  return found
}

/** Whether an entry was added or removed in any of the directories since the snapshot: far cheaper than another snapshot. */
export async function haveEntriesMoved(tree: TreeSnapshot): Promise<boolean> {
  for (const [path, state] of tree.directories) {
    const stats = await look(path)
    if (stats === undefined || signature(stats) !== state) return true
  }
  return false
}

/**
 * Looks at some known files again. Resolves with the snapshot as it is now, or undefined when the paths tell of more than edits:
 * then only another snapshot can say what happened.
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

/** Paths of the files that changed after a moment of the wall clock, in milliseconds. */
export function changedAfter(tree: TreeSnapshot, since: number): string[] {
  const sinceNs = BigInt(Math.floor(since)) * 1_000_000n
  const changeTime = (state: string) => BigInt(state.slice(state.lastIndexOf(':') + 1))
  return [...tree.files].flatMap(([path, state]) => (changeTime(state) > sinceNs ? [path] : []))
}

/** Paths that were added, removed or changed between two snapshots. */
export function changedFiles(before: TreeSnapshot, after: TreeSnapshot): string[] {
  const changed: string[] = []
  for (const [path, state] of after.files) if (before.files.get(path) !== state) changed.push(path)
  for (const path of before.files.keys()) if (!after.files.has(path)) changed.push(path)
  return changed
}
