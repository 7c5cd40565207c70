import { lutimes, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, codeOf } from '@svc/core'

/** Programs that clean /tmp delete files that were not touched for days, usually ten. */
const EVERY_MS = 12 * 3_600_000

/**
 * Touches the files of a run directory twice a day, so that programs that clean /tmp keep them. Those keep sockets with a listener
 * anyway. Returns a function that stops this.
 */
export function keepFresh(runDir: string, clock: Clock, onProblem: (error: unknown) => void): () => void {
  const touchLater = (): (() => void) =>
    clock.after(EVERY_MS, () => {
      touchAll(runDir, clock).catch(onProblem)
      cancel = touchLater()
    })
  let cancel = touchLater()
  return () => cancel()
}

async function touchAll(dir: string, clock: Clock): Promise<void> {
  const seconds = clock.now() / 1_000
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((one) => one.isFile())) {
    await lutimes(join(entry.parentPath, entry.name), seconds, seconds).catch(ignoreMissing)
  }
}

/** A file may have been removed since the directory was read. */
function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error
}
