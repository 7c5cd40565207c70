import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { readRegularFileSync } from '@svc/core'
import type { Location } from 'esbuild'
import type { CompileError } from './errors.ts'
import { positionAt, type SourceErrorFacts, type SourcePosition, sourceError } from './source-problem.ts'
import type { StyleRemark } from './style-text.ts'

/** A site chooses what its sheets import. */
const MAX_FILES = 1_000
const MAX_FILE_BYTES = 4 * 1024 * 1024
const MAX_TOTAL_BYTES = 16 * 1024 * 1024

/** An import that is refused; the bundler knows its place. */
export class StyleRefusal extends Error {
  readonly kind: 'RENDER_RESOLVE' | 'RENDER_COMPILE'
  readonly hint: string | undefined

  constructor(kind: StyleRefusal['kind'], message: string, hint: string | undefined) {
    super(message)
    this.kind = kind
    this.hint = hint
  }
}

/** True if the class names of a sheet are local to it. */
export function isModuleSheet(file: string): boolean {
  return file.endsWith('.module.css')
}

/** The text of style sheets, by the names that the bundler knows them under. */
export class StyleFiles {
  readonly #sitePathOf: (file: string) => string
  readonly #files = new Map<string, { readonly file: string; readonly source: string }>()
  #bytes = 0

  /** @param sitePathOf a path that is unique in the site and equal on every machine */
  constructor(sitePathOf: (file: string) => string) {
    this.#sitePathOf = sitePathOf
  }

  /** The bundler makes local names of the name of the file: it must differ between two `page.module.css` of a site. */
  nameOf(file: string): string {
    if (!isModuleSheet(file)) return file
    const digest = createHash('sha256').update(this.#sitePathOf(file)).digest('hex').slice(0, 6)
    return `${basename(file, '.module.css')}_${digest}.css`
  }

  add(name: string, file: string, source: string): void {
    this.#files.set(name, { file, source })
  }

  get(name: string): { readonly file: string; readonly source: string } | undefined {
    return this.#files.get(name)
  }

  /** Reads a sheet. Throws StyleRefusal for one that is too large, or one too many. */
  read(file: string): string {
    if (this.#files.size >= MAX_FILES) throw unreadable(`more than ${MAX_FILES} style sheets are imported`)
    const source = textOf(file)
    this.#bytes += source.length
    if (this.#bytes > MAX_TOTAL_BYTES) throw unreadable(`the imported style sheets have more than ${MAX_TOTAL_BYTES} bytes`)
    return source
  }

  /** The place of one of the bundler's messages. */
  placeOf(location: Location | null, fallback: string): { file: string; source: string; at: SourcePosition } {
    const name = location === null ? fallback : location.file.slice(location.file.indexOf(':') + 1)
    const { file, source } = this.#files.get(name) ?? this.#files.get(fallback) ?? { file: fallback, source: '' }
    if (location === null) return { file, source, at: { line: 1, column: 1 } }
    // Its columns count bytes.
    const column = Buffer.from(location.lineText).subarray(0, location.column).toString().length + 1
    return { file, source, at: { line: location.line, column } }
  }
}

function textOf(file: string): string {
  try {
    return readRegularFileSync(file, { maxBytes: MAX_FILE_BYTES }).toString('utf8')
  } catch {
    // Gone, a pipe, or too large: all of them mean the same to the author of the sheet.
    throw unreadable(`${file} is not a readable file of at most ${MAX_FILE_BYTES} bytes`)
  }
}

function unreadable(message: string): StyleRefusal {
  return new StyleRefusal('RENDER_RESOLVE', message, undefined)
}

/** The error for a remark on a style sheet. */
export function styleError(file: string, source: string, { offset, message, hint }: StyleRemark): CompileError {
  const facts: SourceErrorFacts = { code: 'RENDER_COMPILE', file, source, at: positionAt(source, offset), message, hint }
  return sourceError(facts)
}
