import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { codeOf } from '../errors/app-error.ts'
import { CoreError } from '../errors/errors.ts'

/** Limits of a read. */
export interface RegularFileLimits {
  /** Largest file that is read, in bytes. */
  readonly maxBytes: number
  /** Real path of a directory that must contain the file after all links are resolved. @default anywhere */
  readonly within?: string
}

/** Not blocking: opening a FIFO returns at once. Never the controlling terminal. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/** True if a real path lies below a directory, also given by its real path. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
}

/**
 * Reads a file whose content, size and kind others choose. Only regular files are read; a FIFO, socket or device neither blocks
 * nor is read, and a file that grows meanwhile is refused at the limit.
 * @throws CORE_FILE_REFUSED, or the error of the system
 */
export function readRegularFileSync(path: string, limits: RegularFileLimits): Buffer {
  // Resolved before it is opened: opening some devices already has effects.
  const fd = opened(path, resolvedWithin(path, limits))
  try {
    checkOpened(path, fd, limits)
    const buffer = roomFor(path, fstatSync(fd), limits)
    let used = 0
    while (used < buffer.byteLength) {
      const count = readSync(fd, buffer, used, buffer.byteLength - used, null)
      if (count === 0) break
      used += count
    }
    return filled(path, buffer, used)
  } finally {
    closeSync(fd)
  }
}

function opened(path: string, realPath: string): number {
  try {
    return openSync(realPath, OPEN_FLAGS)
  } catch (error) {
    throw refusedKind(path, error)
  }
}

/** Sockets, and devices without a driver, cannot be opened at all. */
function refusedKind(path: string, error: unknown): unknown {
  return codeOf(error) === 'ENXIO' || codeOf(error) === 'ENODEV' ? refused(path, 'is not a regular file') : error
}

function resolvedWithin(path: string, { within }: RegularFileLimits): string {
  if (within === undefined) return path
  const real = realpathSync.native(path)
  if (!isBelow(real, within)) throw outside(path, real, within)
  return real
}

/** A directory on the way may have been replaced by a link since the path was resolved: the open file itself is asked. */
function checkOpened(path: string, fd: number, { within }: RegularFileLimits): void {
  if (within === undefined) return
  const real = readlinkSync(`/proc/self/fd/${fd}`)
  if (!isBelow(real, within)) throw outside(path, real, within)
}

/** One byte more than the file has, so that growth shows. */
function roomFor(path: string, stat: { isFile(): boolean; readonly size: number }, { maxBytes }: RegularFileLimits): Buffer {
  if (!stat.isFile()) throw refused(path, 'is not a regular file')
  if (stat.size > maxBytes) throw refused(path, `has ${stat.size} bytes; the limit is ${maxBytes}`)
  return Buffer.allocUnsafe(stat.size + 1)
}

function filled(path: string, buffer: Buffer, used: number): Buffer {
  if (used === buffer.byteLength) throw refused(path, 'grew while it was read')
  return buffer.subarray(0, used)
}

function outside(path: string, real: string, within: string): CoreError {
  return refused(path, `leads to ${real}, outside of ${within}`)
}

function refused(path: string, why: string): CoreError {
  return new CoreError('CORE_FILE_REFUSED', `${path} ${why}`)
}
