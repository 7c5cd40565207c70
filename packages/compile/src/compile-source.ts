import { watchHashOf } from './content-hash.ts'
import { checkDirectives } from './directives.ts'
import type { ModuleFormat, ModuleKind } from './module-kind.ts'
import { isPackageFile, type SiteResolver } from './site-resolver.ts'
import { positionAt, sourceError } from './source-problem.ts'
import type { StyleCompiler } from './style-module.ts'
import { type CompiledScript, compileCommonJs, compileEsm } from './transform-script.ts'

/** The result of compiling one source text, stored on disk by content. Imports are not resolved yet. */
export interface CompiledSource extends CompiledScript {
  readonly format: ModuleFormat
  /** Other files whose text is part of the result. */
  readonly watches: readonly string[]
  /** Hash of the content of `watches` as it was read. */
  readonly watchHash: string
  readonly warnings: readonly string[]
}

/** A source text for `compileSource`. */
export interface SourceInput {
  readonly file: string
  readonly source: string
  readonly kind: ModuleKind
  readonly mode: 'production' | 'development'
}

const nothingImported = { imports: [], lateImports: [], maps: [] } as const
const nothingWatched = { watches: [], watchHash: '' } as const

function compileJson({ file, source }: SourceInput): CompiledSource {
  try {
    JSON.parse(source)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'not JSON'
    const offset = Number(/ at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1] ?? 0)
    throw sourceError({ code: 'RENDER_COMPILE', file, source, at: positionAt(source, offset), message, cause: error })
  }
  return { ...nothingImported, ...nothingWatched, format: 'json', code: source, warnings: [] }
}

async function compileSheet(input: SourceInput, resolver: SiteResolver, styles: StyleCompiler): Promise<CompiledSource> {
  const { file, source } = input
  const { css, classes, imports, watches, warnings } = await styles.compile({
    file,
    source,
    isMinified: input.mode === 'production',
    resolver,
  })
  const watched = { watches: [...watches.keys()], watchHash: watchHashOf([...watches.values()]) }
  return { ...nothingImported, imports, format: 'css', code: JSON.stringify({ css, classes }), ...watched, warnings }
}

/**
 * Compiles one source text.
 * @throws RENDER_COMPILE, RENDER_RESOLVE (style sheets only)
 */
export async function compileSource(input: SourceInput, resolver: SiteResolver, styles: StyleCompiler): Promise<CompiledSource> {
  switch (input.kind) {
    case 'json':
      return compileJson(input)
    case 'css':
    case 'css-module':
      return await compileSheet(input, resolver, styles)
    case 'cjs':
      return { ...compileCommonJs(input), ...nothingWatched, format: 'cjs', warnings: [] }
    case 'esm': {
      const warnings = isPackageFile(input.file) ? [] : checkDirectives(input.file, input.source)
      return { ...compileEsm(input), ...nothingWatched, format: 'esm', warnings }
    }
  }
}
