import { type BigIntStats, closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
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
} from '../static/index.ts'

/** The target of a path. `unreachable`: a part of it is not a directory, or it is too long. `broken`: unknown, the look-up failed. */
export type Found = 'file' | 'directory' | 'missing' | 'unreachable' | 'denied' | 'broken' | 'other'

const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK
const MAX_KNOWN = 4096
const UNREACHABLE: ReadonlySet<string | undefined> = new Set(['ENOTDIR', 'ENAMETOOLONG', 'ELOOP'])

/** Paths hold one character for each byte. */
function nameOf(path: string): string | Buffer {
  for (let i = 0; i < path.length; i++) if (path.charCodeAt(i) > 0x7f) return Buffer.from(path, 'latin1')
  return path
}

/**
 * Files by their absolute path, as operators name them in vhost files: links are followed and names with a dot are served, as
 * the file system has them. The maker of a path must ensure that it does not leave the configured directories.
 */
export class WebFiles implements FileSource {
  readonly #onProblem: (error: Error) => void
  /** Files that could be opened, in the state in which they could. */
  readonly #known = new Map<string, { readonly stat: BigIntStats; readonly version: FileVersion }>()

  constructor(onProblem: (error: Error) => void) {
    this.#onProblem = onProblem
  }

  pathOf(name: string): string {
    return name
  }

  /** Looks up the target of a path. A file that may not be read is `denied` only when it is opened. */
  look(path: string): Found {
    try {
      const stat = statSync(nameOf(path), { throwIfNoEntry: false })
      if (stat === undefined) return 'missing'
      return stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : 'other'
    } catch (error) {
      return this.#failed(error, path)
    }
  }

  /** Returns true for a file that its owner may execute; a directory is one too. */
  isExecutable(path: string): boolean {
    try {
      const stat = statSync(nameOf(path), { throwIfNoEntry: false })
      return stat !== undefined && (stat.mode & constants.S_IXUSR) !== 0
    } catch (error) {
      this.#failed(error, path)
      return false
    }
  }

  find(path: string): FileVersion | 'directory' | undefined {
    const found = this.see(path)
    if (found === 'broken') throw unreadable(path, undefined)
    return typeof found === 'object' || found === 'directory' ? found : undefined
  }

  /** The same, with the reason where there is no file. */
  see(path: string): FileVersion | Exclude<Found, 'file'> {
    try {
      const stat = statSync(nameOf(path), { bigint: true, throwIfNoEntry: false })
      if (stat === undefined) return 'missing'
      if (stat.isDirectory()) return 'directory'
      if (!stat.isFile()) return 'other'
      const known = this.#known.get(path)
      return known !== undefined && isSameState(known.stat, stat) ? known.version : this.#verify(path)
    } catch (error) {
      return this.#failed(error, path)
    }
  }

  open(path: string): OpenFile | undefined {
    try {
      return this.#open(path)
    } catch (error) {
      if (this.#failed(error, path) === 'broken') throw unreadable(path, error)
      return undefined
    }
  }

  #open(path: string): OpenFile | undefined {
    const fd = openSync(nameOf(path), OPEN_FLAGS)
    try {
      const stat = fstatSync(fd, { bigint: true })
      if (stat.isFile()) return { fd, stat }
    } catch (error) {
      closeSync(fd)
      throw error
    }
    closeSync(fd)
    return undefined
  }

  #verify(path: string): FileVersion | 'missing' {
    const file = this.#open(path)
    if (file === undefined) return 'missing'
    closeSync(file.fd)
    const version = versionOf(file.stat)
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(path, { stat: file.stat, version })
    return version
  }

  #failed(error: unknown, path: string): 'missing' | 'denied' | 'unreachable' | 'broken' {
    const code = codeOf(error)
    if (code === 'ENOENT') return 'missing'
    if (UNREACHABLE.has(code)) return 'unreachable'
    const isDenied = DENIED_CODES.has(code)
    this.#onProblem(
      isDenied ? new StaticError('STATIC_UNREADABLE', `cannot read ${path}`, { cause: error }) : unreadable(path, error),
    )
    return isDenied ? 'denied' : 'broken'
  }
}
