import { basename, relative } from 'node:path'
import type { Location } from 'esbuild'
import { contentHash } from './content-hash.ts'
import type { CompileError } from './errors.ts'
import type { SiteResolver } from './site-resolver.ts'
import { positionAt, type SourceErrorFacts, type SourcePosition, sourceError } from './source-problem.ts'

/** Comments, strings and addresses without quotes: text in which nothing of a style sheet's structure stands. */
const inert = /\/\*[\s\S]*?(?:\*\/|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?|\burl\([^)"']*\)/gi

/** Blanks a style sheet's comments, strings and addresses out; every offset stays what it is. */
function bareText(source: string): string {
  return source.replace(inert, (text) => text.replace(/[^\n]/g, ' '))
}

/** Something to say about a place of a style sheet. */
interface StyleRemark {
  readonly offset: number
  readonly message: string
  readonly hint: string
}

/** At-rules of Tailwind: browsers drop them, with what depends on them. */
const tailwindRule = /@(?:tailwind|apply|theme|utility|variant|custom-variant|plugin|config|source)(?![\w-])/i
const moduleSyntax = /(?<![\w:-])composes\s*:|:(?:global|local)(?![\w-])/i

/** Rules that browsers drop without a word: worth a warning. */
export function warningsOf(source: string, isModule: boolean): readonly StyleRemark[] {
  const bare = bareText(source)
  const tailwind = tailwindRule.exec(bare)
  const misplaced = isModule ? null : moduleSyntax.exec(bare)
  return [
    ...(tailwind === null
      ? []
      : [
          {
            offset: tailwind.index,
            message: `${tailwind[0]} has no effect: Tailwind is not run by the server`,
            hint: 'build the style sheet with the command of Tailwind and import its output',
          },
        ]),
    ...(misplaced === null
      ? []
      : [
          {
            offset: misplaced.index,
            message: `"${misplaced[0]}" has no effect in a global sheet`,
            hint: 'name the file *.module.css',
          },
        ]),
  ]
}

/** The classes of its own file that `composes` of a CSS module names. */
interface Composed {
  readonly name: string
  readonly offset: number
}

const composition = /(?<![\w-])composes\s*:([^;{}]*)/gi
const className = /\.(-?[_a-z\u0080-\uffff][\w\u0080-\uffff-]*)/gi

function composedHere(bare: string): readonly Composed[] {
  return [...bare.matchAll(composition)].flatMap((match) => {
    const names = match[1] ?? ''
    if (/(?:^|\s)from(?:\s|$)/i.test(names)) return []
    const start = match.index + match[0].length - names.length
    return [...names.matchAll(/[^\s,!]+/g)].map((name) => ({ name: name[0], offset: start + name.index }))
  })
}

/** The first thing in a CSS module that cannot be compiled; undefined: there is none. */
export function faultOf(source: string): StyleRemark | undefined {
  const bare = bareText(source)
  const value = /@value(?![\w-])/i.exec(bare)
  if (value !== null) {
    return { offset: value.index, message: '@value is not supported', hint: 'use a custom property: --name and var(--name)' }
  }
  const known = new Set([...bare.matchAll(className)].map(([, name]) => name))
  const unknown = composedHere(bare).find(({ name }) => !name.includes('\\') && !known.has(name))
  if (unknown === undefined) return undefined
  const { offset, name } = unknown
  return {
    offset,
    message: `composes: there is no class "${name}" in this file`,
    hint: 'name its file: composes: name from "./x.module.css"',
  }
}

/**
 * Where classes of a file compose each other; undefined: nowhere.
 * @param classes class name as written -> generated names, its own last
 */
export function circleOf(source: string, classes: Readonly<Record<string, string>>): StyleRemark | undefined {
  const names = new Map(Object.entries(classes).map(([name, generated]) => [name, generated.split(' ')]))
  const uses = (from: string, target: string) => names.get(from)?.includes(names.get(target)?.at(-1) ?? '') === true
  const composed = composedHere(bareText(source))
  for (const { name, offset } of composed) {
    const other = composed.find((one) => one.name !== name && uses(name, one.name) && uses(one.name, name))
    if (other === undefined) continue
    return { offset, message: `composes: "${name}" and "${other.name}" compose each other`, hint: 'leave one of them out' }
  }
  return undefined
}

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
  readonly #resolver: SiteResolver
  readonly #files = new Map<string, { readonly file: string; readonly source: string }>()
  #bytes = 0

  constructor(resolver: SiteResolver) {
    this.#resolver = resolver
  }

  /**
   * The bundler makes local names of the name of the file: it must differ between two `page.module.css` of a site, and be equal on
   * every machine.
   */
  nameOf(file: string): string {
    if (!isModuleSheet(file)) return file
    const digest = contentHash(relative(this.#resolver.root, file)).slice(0, 6)
    return `${basename(file, '.module.css')}_${digest}.css`
  }

  add(name: string, file: string, source: string): void {
    this.#files.set(name, { file, source })
  }

  get(name: string): { readonly file: string; readonly source: string } | undefined {
    return this.#files.get(name)
  }

  /** Reads a sheet. Throws StyleRefusal for one that is too large, or one too many. */
  read(file: string): { readonly source: string; readonly hash: string } {
    if (this.#files.size >= MAX_FILES) throw unreadable(`more than ${MAX_FILES} style sheets are imported`)
    const bytes = this.#bytesOf(file)
    this.#bytes += bytes.length
    if (this.#bytes > MAX_TOTAL_BYTES) throw unreadable(`the imported style sheets have more than ${MAX_TOTAL_BYTES} bytes`)
    return { source: bytes.toString('utf8'), hash: contentHash(bytes) }
  }

  #bytesOf(file: string): Buffer {
    try {
      return this.#resolver.read(file, MAX_FILE_BYTES)
    } catch {
      // Gone, a pipe, or too large: all of them mean the same to the author of the sheet.
      throw unreadable(`${file} is not a readable file of at most ${MAX_FILE_BYTES} bytes`)
    }
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

function unreadable(message: string): StyleRefusal {
  return new StyleRefusal('RENDER_RESOLVE', message, undefined)
}

/** The error for a remark on a style sheet. */
export function styleError(file: string, source: string, { offset, message, hint }: StyleRemark): CompileError {
  const facts: SourceErrorFacts = { code: 'RENDER_COMPILE', file, source, at: positionAt(source, offset), message, hint }
  return sourceError(facts)
}
