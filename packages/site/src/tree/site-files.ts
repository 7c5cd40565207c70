import { type Dirent, opendirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { isBelow, messageOf, readRegularFileSync } from '@svc/core'
import { SiteError } from '../errors/errors.ts'
import type { SiteProblem } from '../manifest/manifest.ts'
import { type ModuleSurvey, surveyModule } from './module-survey.ts'

/** Largest file whose text is looked at, in bytes. */
export const MAX_LOOK_BYTES = 4 * 1024 * 1024
/** Files whose text is looked at, and their bytes in all. */
const MAX_LOOKS = 20_000
const MAX_LOOKED_BYTES = 64 * 1024 * 1024
/** Entries of one directory, and of all directories of a site. */
export const MAX_ENTRIES = 20_000
const MAX_ENTRIES_IN_ALL = 200_000

/** The target of a path when all links are followed. */
interface LinkTarget {
  readonly stats: Stats
  readonly realPath: string
  /** True if it is the site's directory or lies below it. */
  readonly isInside: boolean
}

/**
 * The files of one site as a scan sees them. A tenant chooses them, so that every look at them is bounded, and nothing
 * outside of the site's directory is read. Calls block: they belong into the process of a scan, never into one that serves.
 */
export class SiteFiles {
  readonly root: string
  /** The root with all links resolved; the root itself when it is not there. */
  readonly realRoot: string
  readonly #problems: SiteProblem[]
  readonly #looked = new Map<string, ModuleSurvey | undefined>()
  #bytesLeft = MAX_LOOKED_BYTES
  #entriesLeft = MAX_ENTRIES_IN_ALL

  /** @param problems receives what cannot be read */
  constructor(root: string, problems: SiteProblem[]) {
    this.root = root
    this.realRoot = realPathOf(root)
    this.#problems = problems
  }

  /**
   * The entries of a directory in order of their names.
   * @throws SITE_TOO_LARGE, SITE_OUTSIDE, or the error of the system
   */
  entries(directory: string): Dirent[] {
    const { realPath, isInside } = this.target(directory)
    if (!isInside) throw new SiteError('SITE_OUTSIDE', `leads to ${realPath}, outside of the site's directory`)
    const entries: Dirent[] = []
    const opened = opendirSync(realPath)
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        entries.push(entry)
        if (entries.length > MAX_ENTRIES) throw new SiteError('SITE_TOO_LARGE', `has more than ${MAX_ENTRIES} entries`)
        if (--this.#entriesLeft < 0)
          throw new SiteError('SITE_TOO_LARGE', `comes after ${MAX_ENTRIES_IN_ALL} entries of the site`)
      }
    } finally {
      opened.closeSync()
    }
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  /** A path with all links resolved; the path itself when it is missing or unreadable, which listing it reports. */
  realPath(path: string): string {
    return realPathOf(path)
  }

  /** @throws the error of the system */
  target(path: string): LinkTarget {
    const stats = statSync(path)
    const realPath = realpathSync.native(path)
    return { stats, realPath, isInside: realPath === this.realRoot || isBelow(realPath, this.realRoot) }
  }

  /** Exports and directives of a module; undefined when it cannot be read, which is a problem then. */
  look(file: string): ModuleSurvey | undefined {
    if (!this.#looked.has(file)) this.#looked.set(file, this.#look(file))
    return this.#looked.get(file)
  }

  /** True if a module exports a name, as far as its text tells. */
  exports(file: string, name: string): boolean {
    return this.look(file)?.exports.has(name) === true
  }

  #look(file: string): ModuleSurvey | undefined {
    const text = this.text(file)
    return text === undefined ? undefined : this.parsed(file, () => surveyModule(file, text))
  }

  /** Runs a look at a parsed text. Undefined when it fails, as for syntax nested without end; it is a problem then. */
  parsed<Facts>(file: string, look: () => Facts): Facts | undefined {
    try {
      return look()
    } catch (error) {
      this.#problems.push({ severity: 'error', file, message: `cannot be parsed: ${messageOf(error)}` })
      return undefined
    }
  }

  /** The text of a file; undefined when it cannot be read, which is a problem then. */
  text(file: string): string | undefined {
    try {
      if (this.#looked.size >= MAX_LOOKS) throw new SiteError('SITE_TOO_LARGE', `comes after ${MAX_LOOKS} files of the site`)
      const maxBytes = Math.min(MAX_LOOK_BYTES, this.#bytesLeft)
      const bytes = readRegularFileSync(file, { maxBytes, within: this.realRoot })
      this.#bytesLeft -= bytes.byteLength
      return bytes.toString('utf8')
    } catch (error) {
      this.#problems.push({ severity: 'error', file, message: `cannot be read: ${messageOf(error)}` })
      return undefined
    }
  }
}

function realPathOf(directory: string): string {
  try {
    return realpathSync.native(directory)
  } catch {
    // Missing or unreadable.
    return directory
  }
}
