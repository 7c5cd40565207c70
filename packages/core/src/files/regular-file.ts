import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync, type Stats } from 'node:fs'
import { open, readlink, realpath } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { sep } from 'node:path'
import { codeOf, messageOf } from '../errors/app-error.ts'
import { CoreError } from '../errors/errors.ts'

/** Limits of a read. */
interface RegularFileLimits {
  /** Largest file that is read, in bytes. */
  readonly maxBytes: number
  /** Real path of a directory that must contain the file after all links are resolved. @default anywhere */
  readonly within?: string
  /** Refuses a file that is not for the user of the process alone: a link, a second name, another owner, access by others. */
  readonly isPrivate?: boolean
}

/** A file that was read. */
interface RegularFile {
  readonly bytes: Buffer
  /** Of the open file, taken before its content was read. */
  readonly stat: Stats
}

/** Not blocking: opening a FIFO returns at once. Never the controlling terminal. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
const OF_OTHERS = 0o077
/** Files of some file systems, as /proc, have no size before they are read. */
const LEAST_ROOM = 4_096

/** True if a real path lies below a directory, also given by its real path. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
}

/** Returns the content of a file. See `loadRegularFileSync`. */
export function readRegularFileSync(path: string, limits: RegularFileLimits): Buffer {
  return loadRegularFileSync(path, limits).bytes
}

/**
 * Reads a file whose content, size and kind others choose. Only regular files are read; a FIFO, socket or device neither blocks
 * nor is read, and a file that grows meanwhile is refused at the limit.
 * @param path a Buffer for a name that is not UTF-8
 * @throws CORE_FILE_REFUSED, or the error of the system
 */
export function loadRegularFileSync(path: string | Buffer, limits: RegularFileLimits): RegularFile {
  // Resolved before it is opened: opening some devices already has effects.
  const real = limits.within === undefined ? path : resolvedWithin(path, realpathSync.native(path), limits)
  const fd = openedSync(path, real, limits)
  try {
    if (limits.within !== undefined) resolvedWithin(path, readlinkSync(`/proc/self/fd/${fd}`), limits)
    const stat = fstatSync(fd)
    check(path, stat, limits)
    let room: Buffer = Buffer.allocUnsafe(roomFor(stat))
    for (let used = 0; ; ) {
      const count = readSync(fd, room, used, room.byteLength - used, null)
      if (count === 0) return { bytes: room.subarray(0, used), stat }
      used += count
      room = enlarged(path, room, used, limits)
    }
  } finally {
    closeSync(fd)
  }
}

/** The same without holding the thread up. */
export async function loadRegularFile(path: string | Buffer, limits: RegularFileLimits): Promise<RegularFile> {
  const real = limits.within === undefined ? path : resolvedWithin(path, await realpath(path), limits)
  const handle = await open(real, flagsFor(limits)).catch((error) => {
    throw refusedKind(path, error)
  })
  try {
    if (limits.within !== undefined) resolvedWithin(path, await readlink(`/proc/self/fd/${handle.fd}`), limits)
    const stat = await handle.stat()
    check(path, stat, limits)
    let room: Buffer = Buffer.allocUnsafe(roomFor(stat))
    for (let used = 0; ; ) {
      const { bytesRead } = await handle.read(room, used, room.byteLength - used, null)
      if (bytesRead === 0) return { bytes: room.subarray(0, used), stat }
      used += bytesRead
      room = enlarged(path, room, used, limits)
    }
  } finally {
    await handle.close()
  }
}

function flagsFor({ isPrivate }: RegularFileLimits): number {
  return isPrivate === true ? OPEN_FLAGS | constants.O_NOFOLLOW : OPEN_FLAGS
}

function openedSync(path: string | Buffer, real: string | Buffer, limits: RegularFileLimits): number {
  try {
    return openSync(real, flagsFor(limits))
  } catch (error) {
    throw refusedKind(path, error)
  }
}

/** Sockets, and devices without a driver, cannot be opened at all. */
function refusedKind(path: string | Buffer, error: unknown): unknown {
  return codeOf(error) === 'ENXIO' || codeOf(error) === 'ENODEV' ? refused(path, 'is not a regular file') : error
}

/**
 * Returns the real path of a file. Called for its name and again for the open file: a directory on the way may have been replaced by
 * a link since the path was resolved.
 */
function resolvedWithin(path: string | Buffer, real: string, { within }: RegularFileLimits): string {
  if (within !== undefined && !isBelow(real, within)) throw refused(path, `leads to ${real}, outside of ${within}`)
  return real
}

function check(path: string | Buffer, stat: Stats, { maxBytes, isPrivate }: RegularFileLimits): void {
  if (stat.isDirectory()) throw refused(path, 'is not a regular file', { why: 'is a directory, not a file', code: 'EISDIR' })
  if (!stat.isFile()) throw refused(path, 'is not a regular file')
  if (stat.size > maxBytes) throw refused(path, `has ${stat.size} bytes; the limit is ${maxBytes}`, { why: tooLarge(maxBytes) })
  if (isPrivate !== true) return
  const self = process.geteuid?.()
  if (stat.uid !== self) throw refused(path, `belongs to user ${stat.uid}, and this process runs as user ${self}`)
  if (stat.nlink !== 1) throw refused(path, 'has a second name')
  if ((stat.mode & OF_OTHERS) === 0) return
  throw refused(path, `is open to other users (mode ${(stat.mode & 0o777).toString(8)}); it must have mode 600`)
}

/** One byte more than the file has, so that growth shows. */
function roomFor({ size }: Stats): number {
  return Math.max(size, LEAST_ROOM) + 1
}

/** Returns a buffer with room for the rest of a file. */
function enlarged(path: string | Buffer, room: Buffer, used: number, { maxBytes }: RegularFileLimits): Buffer {
  if (used > maxBytes) throw refused(path, tooLarge(maxBytes))
  if (used < room.byteLength) return room
  const larger = Buffer.allocUnsafe(Math.min(2 * used, maxBytes + 1))
  room.copy(larger, 0, 0, used)
  return larger
}

function tooLarge(maxBytes: number): string {
  return `is larger than ${maxBytes} bytes`
}

/** @param data the reason in other words, and the code that the system has for it */
function refused(
  path: string | Buffer,
  why: string,
  data: { readonly why: string; readonly code?: string } = { why },
): CoreError {
  return new CoreError('CORE_FILE_REFUSED', `${path} ${why}`, { data })
}

/** The content of a file, or why it cannot be had. `code` is that of the system, where it comes from there. */
type ReadBounded =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly code: string | undefined }

/** Reads a regular file of at most `maxBytes`, however large it grows meanwhile. Never waits for a pipe or a device. */
export async function readBounded(path: string, maxBytes: number): Promise<ReadBounded> {
  try {
    const { bytes } = await loadRegularFile(path, { maxBytes })
    return { ok: true, bytes }
  } catch (error) {
    if (codeOf(error) === 'CORE_FILE_REFUSED') {
      const { why, code } = (error as CoreError).data as { readonly why: string; readonly code?: string }
      return { ok: false, why, code }
    }
    return { ok: false, why: whyUnreadable(error), code: codeOf(error) }
  }
}

/** Name of the user that this process runs as. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // It has no name.
    return String(process.geteuid?.())
  }
}

/** Explains why a file or directory cannot be read. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error)
  switch (code) {
    case 'ENOENT':
      return 'no such file'
    case 'EISDIR':
      return 'is a directory, not a file'
    case 'ELOOP':
      return 'is a symbolic link loop'
    case 'EACCES':
      return `is not readable by the user ${userName()}: check owner and mode of the file and of the directories above it`
    default:
      return `cannot be read: ${code ?? messageOf(error)}`
  }
}
