import { stat } from 'node:fs/promises'
import type { LoadResult } from '@svc/config'
import type { Clock } from '@svc/core'

/** A file that changed so lately may have been written in part. */
const SETTLED_MS = 50
/** One that is empty has probably been opened to be written. */
const FILLED_MS = 1_000
const PAUSE_MS = 50
/** Files that change for longer are taken as they are. */
const MAX_WAIT_MS = 2_000
/** A clock of a file server that is ahead by more says nothing about now. */
const MAX_AHEAD_MS = 1_000
const MAX_PARALLEL = 64

/**
 * Loads a configuration whose files are not being written: editors and scripts empty a file before they fill it, and an empty one is a
 * valid configuration without sites. Loads again while a file has just changed, for a bounded time.
 */
export async function loadSettled(load: () => Promise<LoadResult>, clock: Clock): Promise<LoadResult> {
  const endsAt = clock.monotonic() + MAX_WAIT_MS
  for (;;) {
    const startedAt = clock.now()
    const result = await load()
    const files = result.ok ? result.files : result.problems.map(({ file }) => file)
    if (clock.monotonic() >= endsAt || !(await isAnyChanging([...new Set(files)], startedAt))) return result
    await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve))
  }
}

async function isAnyChanging(files: readonly string[], startedAt: number): Promise<boolean> {
  for (let i = 0; i < files.length; i += MAX_PARALLEL) {
    const changing = await Promise.all(files.slice(i, i + MAX_PARALLEL).map((file) => isChanging(file, startedAt)))
    if (changing.includes(true)) return true
  }
  return false
}

/** A file that cannot be read has a problem of its own by now. */
async function isChanging(file: string, startedAt: number): Promise<boolean> {
  const info = await stat(file).catch(() => undefined)
  if (info?.isFile() !== true || info.mtimeMs > Date.now() + MAX_AHEAD_MS) return false
  return info.mtimeMs > startedAt - (info.size === 0 ? FILLED_MS : SETTLED_MS)
}
