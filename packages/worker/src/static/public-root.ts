import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { codeOf } from '@svc/core'
import { StaticError } from '../errors/errors.ts'
import {
  DENIED_CODES,
  type FileSource,
  type FileVersion,
  isSameState,
  type OpenFile,
  unreadable,
  versionOf,
} from './file-source.ts'

/** Codes that mean: there is no such file. */
const MISSING_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO', 'ENODEV'])
/** Not blocking, so that a FIFO put in place of a file cannot hold the thread. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK
/** How many files are remembered as lying inside of the root. */
const MAX_VERIFIED = 4096

/**
 * The directory whose files are served. Nothing outside of it is ever opened for a client, whatever symbolic links say: where
 * a name really led to is asked of the open file itself, so that no swap of a link between check and use helps. Calls are
 * synchronous: they cost about a microsecond each on a local disk, a tenth of the cost of a thread pool.
 */
export class PublicRoot implements FileSource {
  readonly #root: string
  readonly #onProblem: (error: Error) => void
  /** Targets that names last resolved to, inside the root. */
  readonly #verified = new Map<string, { readonly stat: BigIntStats; readonly version: FileVersion }>()
  #realRoot: string | undefined

  constructor(root: string, onProblem: (error: Error) => void) {
    this.#root = root
    this.#onProblem = onProblem
  }

  /** Absolute path of a relative name. */
  pathOf(name: string): string {
    return `${this.#root}/${name}`
  }

  /** Looks at the target of a name: a regular file inside the root, a directory, or nothing that is served. */
  find(name: string): FileVersion | 'directory' | undefined {
    const stat = this.#stat(this.pathOf(name))
    if (stat === undefined) return undefined
    if (stat.isDirectory()) return 'directory'
    if (!stat.isFile()) return undefined
    const known = this.#verified.get(name)
    return known !== undefined && isSameState(known.stat, stat) ? known.version : this.#verify(name)
  }

  /** Opens a regular file inside of the root; undefined for anything else. */
  open(name: string): OpenFile | undefined {
    const path = this.pathOf(name)
    let fd = -1
    try {
      fd = openSync(path, OPEN_FLAGS)
      const stat = fstatSync(fd, { bigint: true })
      if (stat.isFile() && this.#isInside(realPathOf(fd, path))) return { fd, stat }
      closeSync(fd)
      return undefined
    } catch (error) {
      if (fd !== -1) closeSync(fd)
      return this.#missing(error, path)
    }
  }

  /** Remembers a file that lies inside of the root; it is checked again when anything about it changes. */
  #verify(name: string): FileVersion | undefined {
    const file = this.open(name)
    if (file === undefined) return undefined
    closeSync(file.fd)
    const version = versionOf(file.stat)
    if (this.#verified.size >= MAX_VERIFIED) this.#verified.clear()
    this.#verified.set(name, { stat: file.stat, version })
    return version
  }

  #stat(path: string): BigIntStats | undefined {
    try {
      return statSync(path, { bigint: true, throwIfNoEntry: false })
    } catch (error) {
      return this.#missing(error, path)
    }
  }

  /** The root may be a link that a deploy points elsewhere: it is resolved again before a file is refused. */
  #isInside(realPath: string): boolean {
    if (this.#isBelow(realPath)) return true
    this.#realRoot = realpathSync.native(this.#root)
    return this.#isBelow(realPath)
  }

  #isBelow(realPath: string): boolean {
    const root = this.#realRoot
    if (root === undefined || !realPath.startsWith(root)) return false
    const rest = root.endsWith('/') ? realPath.slice(root.length) : realPath.slice(root.length + 1)
    return (root.endsWith('/') || realPath[root.length] === '/') && !hasHiddenSegment(rest)
  }

  #missing(error: unknown, path: string): undefined {
    const code = codeOf(error)
    if (MISSING_CODES.has(code)) return undefined
    if (!DENIED_CODES.has(code)) throw unreadable(path, error)
    this.#onProblem(new StaticError('STATIC_UNREADABLE', `cannot read ${path}`, { cause: error }))
    return undefined
  }
}

/** Real path of an open file. Linux knows it; elsewhere the name is resolved again. */
function realPathOf(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    // No /proc here.
    return realpathSync.native(path)
  }
}

/** The only name with a dot at its beginning that is served (RFC 8615), and only at the root. */
const WELL_KNOWN = '.well-known'

/**
 * Turns a normalised URL path into a file name relative to a root, e.g. "/a/b%20c" into "a/b c"; "" is the root itself, and a
 * name of a directory ends in "/". Undefined for names that are never served: hidden names, escapes of "/", "\" and NUL, dot
 * segments, and escapes that are no UTF-8.
 */
export function fileNameOf(path: string): string | undefined {
  const name = path.includes('%') ? decoded(path.slice(1)) : path.slice(1)
  if (name === undefined || name.includes('\\')) return undefined
  return hasHiddenSegment(name) ? undefined : name
}

/** True if a segment begins with a dot, but for `.well-known` as the first one. */
function hasHiddenSegment(name: string): boolean {
  if (!name.startsWith('.')) return name.includes('/.')
  if (name !== WELL_KNOWN && !name.startsWith(`${WELL_KNOWN}/`)) return true
  return name.includes('/.', WELL_KNOWN.length)
}

function decoded(encoded: string): string | undefined {
  if (/%(?:2f|5c|00)/i.test(encoded)) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    // Not UTF-8: no file has such a name as far as we can say.
    return undefined
  }
}
