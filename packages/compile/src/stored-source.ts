import type { CompiledSource } from './compile-source.ts'

interface Head extends Omit<CompiledSource, 'code' | 'maps'> {
  readonly hasMaps: boolean
}

/** A compiled source as text, without its source maps: a line of JSON with everything small, then the code. */
export function formatSource({ code, maps, ...rest }: CompiledSource): string {
  const head: Head = { ...rest, hasMaps: maps.length > 0 }
  return `// ${JSON.stringify(head)}\n${code}`
}

/**
 * What `formatSource` wrote. The source maps, which are most of what is known of a module, are read when something throws. A class,
 * because V8 keeps an object literal with a getter, and all that it refers to, until the next full collection.
 */
export class StoredSource implements CompiledSource {
  readonly format: CompiledSource['format']
  readonly imports: readonly string[]
  readonly lateImports: readonly string[]
  readonly watches: readonly string[]
  readonly watchHash: string
  readonly warnings: readonly string[]
  readonly code: string
  readonly #hasMaps: boolean
  readonly #readMaps: () => readonly string[]

  /** @param readMaps called only where there are some */
  constructor(text: string, readMaps: () => readonly string[]) {
    const codeStart = text.indexOf('\n') + 1
    const head = JSON.parse(text.slice(3, codeStart)) as Head
    this.format = head.format
    this.imports = head.imports
    this.lateImports = head.lateImports
    this.watches = head.watches
    this.watchHash = head.watchHash ?? ''
    this.warnings = head.warnings
    this.code = text.slice(codeStart)
    this.#hasMaps = head.hasMaps
    this.#readMaps = readMaps
  }

  get maps(): readonly string[] {
    return this.#hasMaps ? this.#readMaps() : []
  }
}
