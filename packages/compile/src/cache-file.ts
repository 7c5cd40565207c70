import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { codeOf } from '@svc/core'

/** Length and CRC-32 of the body, eight hexadecimal digits each, and a line feed. */
const HEAD_BYTES = 17
/** Files are read into memory of this size, one behind the other: most cache files are far smaller. */
const SLAB_BYTES = 256 * 1024
/** With less room left in it, the next file gets a new slab. */
const MIN_ROOM_BYTES = 64 * 1024

/** A link is not followed, and a pipe does not block. */
const UNFOLLOWED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const OTHERS_WRITE = 0o022

/** Counters of the caches on disk. */
export interface CacheCounters {
  hits: number
  misses: number
  /** Files that were unreadable, cut short, changed or another user's, and were deleted. */
  corrupt: number
  /** Files that could not be written. */
  writeFailures: number
}

/**
 * Reads and writes files that prove themselves whole. Each begins with length and CRC-32 of what follows: that finds files
 * that are cut, overwritten, zeroed by a crash or of another format, at a third of the time that a cryptographic hash takes. It
 * does not protect from changes by others: a file is only read if it belongs to the user of the process, who alone can write it.
 * All methods are synchronous and never throw.
 */
export class CacheFiles {
  readonly counters: CacheCounters = { hits: 0, misses: 0, corrupt: 0, writeFailures: 0 }
  #slab = Buffer.alloc(0)
  /** The slab up to here belongs to bodies that were given away. */
  #used = 0

  /** Reads a file that `write` wrote. A damaged file is deleted and counts as absent. */
  bytes(file: string): Buffer | undefined {
    const body = this.#lend(file)
    if (body?.buffer === this.#slab.buffer) this.#used += HEAD_BYTES + body.byteLength
    return body
  }

  /** The same as UTF-8 text. */
  text(file: string): string | undefined {
    return this.#lend(file)?.toString()
  }

  /** True if there is something to read under this name. */
  has(file: string): boolean {
    return existsSync(file)
  }

  /**
   * Writes a file under a temporary name and renames it, so that a reader in any thread or process sees all of it or
   * nothing. A failure is counted, not thrown: the next start compiles again.
   */
  write(file: string, content: Uint8Array | string): void {
    const temporary = `${file}.${randomUUID()}.tmp`
    const body = Buffer.from(content)
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileSync(temporary, Buffer.concat([Buffer.from(headOf(body)), body]), { mode: 0o600, flag: 'wx' })
      renameSync(temporary, file)
    } catch {
      // A full disk or a read-only directory makes the cache useless, not the site.
      this.counters.writeFailures++
      removeFile(temporary)
    }
  }

  /** Deletes a file, if it is there. */
  remove(file: string): void {
    removeFile(file)
  }

  /** The content of a file behind its head; valid until the next file is read. */
  #lend(file: string): Buffer | undefined {
    let content: Buffer | undefined
    try {
      content = this.#read(file)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') this.counters.corrupt++
      this.counters.misses++
      return undefined
    }
    const body = content?.subarray(HEAD_BYTES)
    if (body !== undefined && content?.toString('latin1', 0, HEAD_BYTES) === headOf(body)) {
      this.counters.hits++
      return body
    }
    this.counters.corrupt++
    this.counters.misses++
    removeFile(file)
    return undefined
  }

  /**
   * Reads a whole file into the free part of the slab if it fits: fewer system calls than `readFileSync`, and no copy.
   * @returns undefined for anything but a file that only this user can write
   */
  #read(file: string): Buffer | undefined {
    if (this.#slab.length - this.#used < MIN_ROOM_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    const room = this.#slab.length - this.#used
    const descriptor = openSync(file, UNFOLLOWED)
    try {
      if (!isOwnFile(descriptor)) return undefined
      const length = readSync(descriptor, this.#slab, this.#used, room, 0)
      return length < room ? this.#slab.subarray(this.#used, this.#used + length) : readFileSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}

/** V8 trusts a code cache: one that another user wrote would run as this user, outside of every isolate. */
function isOwnFile(descriptor: number): boolean {
  const info = fstatSync(descriptor)
  return info.isFile() && info.uid === process.geteuid?.() && (info.mode & OTHERS_WRITE) === 0
}

function headOf(body: Uint8Array): string {
  return `${hex(body.byteLength)}${hex(crc32(body))}\n`
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}

function removeFile(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // A file that cannot be removed is found unusable again next time.
  }
}
