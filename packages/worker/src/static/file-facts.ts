import type { BigIntStats } from 'node:fs'
import { type EntityTag, formatHttpDate } from '@svc/http'

/** What is known of one state of one file. */
export interface FileFacts {
  /** Equal for two looks at a file exactly if it is the same file with the same content. */
  readonly state: string
  readonly size: number
  readonly lastModifiedMs: number
  /** `lastModifiedMs` as a field value. */
  readonly lastModified: string
  /** Strong: made of inode, size and time of change. */
  readonly etag: EntityTag
  /** Milliseconds since the epoch; no program can set it back, unlike the time of modification. */
  readonly changedAtMs: number
}

/** Reads the facts out of a stat. The tag is built on ctime, since build tools like to set all mtimes to one value. */
export function factsOf(stat: BigIntStats): FileFacts {
  return {
    state: `${stat.dev}:${stat.ino}:${stat.size}:${stat.ctimeNs}`,
    size: Number(stat.size),
    lastModifiedMs: Number(stat.mtimeMs),
    lastModified: formatHttpDate(Number(stat.mtimeMs)),
    etag: `"${stat.ino.toString(36)}-${stat.size.toString(36)}-${stat.ctimeNs.toString(36)}"`,
    changedAtMs: Number(stat.ctimeMs),
  }
}

/** Whether two looks found the same file in the same state; what `FileFacts.state` says, without making the text. */
export function isSameState(a: BigIntStats, b: BigIntStats): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.size === b.size && a.dev === b.dev
}

/** What a change of the content changes, but a rename or a new link to the file does not. */
export function contentStateOf(stat: BigIntStats): string {
  return `${stat.size}:${stat.mtimeNs}`
}
