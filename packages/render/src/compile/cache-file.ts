import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '@svc/core'
import { contentHash } from './content-hash.ts'

const HASH_LENGTH = 64

/** Counts of what the caches on disk did. */
export interface CacheCounters {
  hits: number
  misses: number
  /** Files that were unreadable, cut short or changed by others, and were deleted. */
  corrupt: number
  /** Files that could not be written. */
  writeFailures: number
}

/** A new set of counters, all zero. */
export function newCacheCounters(): CacheCounters {
  return { hits: 0, misses: 0, corrupt: 0, writeFailures: 0 }
}

/**
 * Reads a file that `writeCacheFile` wrote. One that is not what was written is deleted and counts as absent.
 * Never throws.
 */
export function readCacheFile(file: string, counters: CacheCounters): Buffer | undefined {
  const body = lendBody(file, counters)
  return body === undefined ? undefined : Buffer.from(body)
}

/** The same as UTF-8 text. */
export function readCacheText(file: string, counters: CacheCounters): string | undefined {
  return lendBody(file, counters)?.toString()
}

/** What a file holds behind its hash, until the next file is read. */
function lendBody(file: string, counters: CacheCounters): Buffer | undefined {
  let content: Buffer
  try {
    content = readWhole(file)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') counters.corrupt++
    counters.misses++
    return undefined
  }
  const body = content.subarray(HASH_LENGTH + 1)
  if (content.byteLength > HASH_LENGTH && content.toString('latin1', 0, HASH_LENGTH) === contentHash(body)) {
    counters.hits++
    return body
  }
  deleteCorrupt(file, counters)
  return undefined
}

/** Most files of the caches fit in here: then they are read without asking for their size first. */
const scratch = Buffer.allocUnsafeSlow(128 * 1024)

/** Two system calls less per file than `readFileSync`. What it returns may be overwritten by the next call. */
function readWhole(file: string): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const length = readSync(descriptor, scratch, 0, scratch.length, 0)
    return length < scratch.length ? scratch.subarray(0, length) : readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Deletes a cache file that proved unusable, and counts it. */
export function deleteCorrupt(file: string, counters: CacheCounters): void {
  counters.corrupt++
  counters.misses++
  removeFile(file)
}

/**
 * Writes a file under a temporary name and renames it, so that a reader in any thread or process sees all of it or
 * nothing. A failure is counted, not thrown: the next start compiles again.
 */
export function writeCacheFile(file: string, body: Uint8Array | string, counters: CacheCounters): void {
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(temporary, Buffer.concat([Buffer.from(`${contentHash(body)}\n`), Buffer.from(body)]), { mode: 0o600 })
    renameSync(temporary, file)
  } catch {
    // A full disk or a read-only directory makes the cache useless, not the site.
    counters.writeFailures++
    removeFile(temporary)
  }
}

function removeFile(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // What cannot be removed is found unusable again next time.
  }
}
