import type { BigIntStats } from 'node:fs'
import { type EntityTag, formatHttpDate } from '@svc/http'
import { StaticError } from '../errors/errors.ts'

/** A file open for reading; its owner closes `fd`. */
export interface OpenFile {
  readonly fd: number
  readonly stat: BigIntStats
}

/**
 * Finds files by name. Calls are synchronous. A file that may not be read is reported, and counts as missing. Where it is unknown
 * (no file descriptors left, a broken disk) they throw `STATIC_READ_FAILED`: a client that gets 404 forgets the page.
 */
export interface FileSource {
  /** Absolute path of a name. */
  pathOf(name: string): string
  /** Looks at the target of a name: a regular file that may be served, a directory, or nothing that is served. */
  find(name: string): FileVersion | 'directory' | undefined
  /** Opens a regular file; undefined for anything else. */
  open(name: string): OpenFile | undefined
}

/** Facts of one state of one file. */
export interface FileVersion {
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

/** The version of a file, from its stat. The tag is built on ctime, since build tools like to set all mtimes to one value. */
export function versionOf(stat: BigIntStats): FileVersion {
  return {
    state: `${stat.dev}:${stat.ino}:${stat.size}:${stat.ctimeNs}`,
    size: Number(stat.size),
    lastModifiedMs: Number(stat.mtimeMs),
    lastModified: formatHttpDate(Number(stat.mtimeMs)),
    etag: `"${stat.ino.toString(36)}-${stat.size.toString(36)}-${stat.ctimeNs.toString(36)}"`,
    changedAtMs: Number(stat.ctimeMs),
  }
}

/** True if two looks found the same file in the same state: compares like `FileVersion.state`, without building the text. */
export function isSameState(a: BigIntStats, b: BigIntStats): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.size === b.size && a.dev === b.dev
}

/** Changes with the content of a file, but not with a rename of it or a new link to it. */
export function contentStateOf(stat: BigIntStats): string {
  return `${stat.size}:${stat.mtimeNs}`
}

/** System error codes of a file that exists but that this process may not read. */
export const DENIED_CODES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM'])

/** The error for a file whose existence is unknown: no descriptors are left, or the disk is broken. */
export function unreadable(path: string, cause: unknown): StaticError {
  return new StaticError('STATIC_READ_FAILED', `cannot read ${path}`, { cause })
}
