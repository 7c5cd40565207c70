import { stat } from 'node:fs/promises'
import { printable } from '@svc/core'

const WRITABLE_BY_ALL = 0o002
const MODE_BITS = 0o7777
/** Files of a configuration that are looked at: the main file comes first. */
const MAX_FILES = 1_000

/** Warns of files of the configuration that every user of the machine may change. */
export async function fileNotices(files: readonly string[]): Promise<string[]> {
  const notices: string[] = []
  for (const file of files.slice(0, MAX_FILES)) {
    // It was read a moment ago; if it is gone, the next load says so.
    const info = await stat(file).catch(() => undefined)
    if (info === undefined || !info.isFile() || (info.mode & WRITABLE_BY_ALL) === 0) continue
    const mode = (info.mode & MODE_BITS).toString(8).padStart(4, '0')
    notices.push(`${printable(file)} has mode ${mode}: every user of the machine may change the configuration (chmod o-w)`)
  }
  return notices
}
