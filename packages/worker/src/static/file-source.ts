import type { BigIntStats } from 'node:fs'
import type { FileFacts } from './file-facts.ts'

/** A file open for reading; who has it closes `fd`. */
export interface OpenFile {
  readonly fd: number
  readonly stat: BigIntStats
}

/**
 * Where files are found by name. Calls are synchronous. A file that may not be read is reported, and counts as missing. Where nobody can tell
 * (no file descriptors left, a broken disk) they throw `STATIC_READ_FAILED`: a client that is told 404 forgets the page.
 */
export interface FileSource {
  /** Absolute path of a name. */
  pathOf(name: string): string
  /** Looks at what a name leads to: a regular file that may be served, a directory, or nothing that is served. */
  find(name: string): FileFacts | 'directory' | undefined
  /** Opens a regular file; undefined for anything else. */
  open(name: string): OpenFile | undefined
}
