import type { CompiledSource } from './compile-source.ts'

type Head = Omit<CompiledSource, 'code' | 'maps'> & { readonly codeLength: number }

/** A compiled source as text: a line of JSON with everything small, then the code, then the source maps as JSON. */
export function formatSource({ code, maps, ...rest }: CompiledSource): string {
  return `// ${JSON.stringify({ ...rest, codeLength: code.length })}\n${code}\n// ${JSON.stringify(maps)}`
}

/**
 * What `formatSource` wrote. Code and maps share the memory of the text; maps are parsed when something throws. A class,
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
  readonly #maps: string

  constructor(text: string) {
    const codeStart = text.indexOf('\n') + 1
    const head = JSON.parse(text.slice(3, codeStart)) as Head
    const codeEnd = codeStart + head.codeLength
    this.format = head.format
    this.imports = head.imports
    this.lateImports = head.lateImports
    this.watches = head.watches
    this.watchHash = head.watchHash ?? ''
    this.warnings = head.warnings
    this.code = text.slice(codeStart, codeEnd)
    this.#maps = text.slice(codeEnd + 4)
  }

  get maps(): readonly string[] {
    return JSON.parse(this.#maps) as string[]
  }
}
