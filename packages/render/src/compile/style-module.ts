import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { codeOf } from '@svc/core'
import type { BuildFailure, Message, Plugin } from 'esbuild'
import { parseSync, Visitor } from 'oxc-parser'
import { sourceError } from './source-problem.ts'

/** A style sheet to be compiled. */
export interface StyleSource {
  readonly file: string
  readonly source: string
  readonly isModule: boolean
  /** Whether the text is made short rather than readable. */
  readonly isMinified: boolean
  /** Path that makes generated class names unique in the site and equal on every machine: relative to its root. */
  readonly sitePath: string
  /** Finds the file of an `@import`. Throws when it may not be read. */
  readonly resolve: (importer: string, specifier: string) => string
}

/** A style sheet with everything that it imports. */
export interface CompiledStyle {
  readonly css: string
  /** Class name as written -> generated names, space separated. Empty for a global sheet. */
  readonly classes: Readonly<Record<string, string>>
  /** Files whose text is part of it. */
  readonly watches: readonly string[]
  readonly warnings: readonly string[]
}

const NAMESPACE = 'style'
/** The one import of the script that esbuild is given. */
const ENTRY = 'svc:entry'

/** esbuild makes local names from the file name: it must differ between two `page.module.css` of a site. */
function uniqueName(sitePath: string): string {
  const digest = createHash('sha256').update(sitePath).digest('hex').slice(0, 6)
  return `${basename(sitePath, '.module.css')}_${digest}.css`
}

function stylePlugin(style: StyleSource, watches: Set<string>): Plugin {
  const loader = style.isModule ? 'local-css' : 'css'
  return {
    name: NAMESPACE,
    setup(builder) {
      builder.onResolve({ filter: /.*/ }, (args) => {
        if (args.path === ENTRY) return { path: uniqueName(style.sitePath), namespace: NAMESPACE }
        // Addresses of images and fonts are those of the public directory: they stay as they are.
        if (args.kind !== 'import-rule' || /^(?:https?:)?\/\//.test(args.path)) return { path: args.path, external: true }
        const importer = args.namespace === NAMESPACE ? style.file : args.importer
        return { path: style.resolve(importer, args.path) }
      })
      builder.onLoad({ filter: /.*/, namespace: NAMESPACE }, () => ({ contents: style.source, loader }))
      builder.onLoad({ filter: /.*/, namespace: 'file' }, async (args) => {
        watches.add(args.path)
        return { contents: await readFile(args.path, 'utf8'), loader }
      })
    },
  }
}

function classesOf(code: string): Record<string, string> {
  const classes: Record<string, string> = {}
  const visitor = new Visitor({
    Property(node) {
      const name = node.key.type === 'Literal' ? String(node.key.value) : node.key.type === 'Identifier' ? node.key.name : ''
      if (node.value.type === 'Literal') classes[name] = String(node.value.value)
    },
  })
  visitor.visit(parseSync('classes.js', code, { sourceType: 'module' }).program)
  return classes
}

function raise(style: StyleSource, message: Message, cause: unknown): never {
  // A failed resolution has its own code and hint.
  if (codeOf(message.detail) !== undefined) throw message.detail
  const { location } = message
  const isOwn = location === null || location.namespace === NAMESPACE
  throw sourceError({
    code: 'RENDER_COMPILE',
    file: isOwn ? style.file : location.file,
    source: isOwn ? style.source : location.lineText,
    at: { line: location?.line ?? 1, column: (location?.column ?? 0) + 1 },
    message: message.text,
    cause,
  })
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}

/** Compiles style sheets. */
export class StyleCompiler {
  #running = 0

  /**
   * Compiles a style sheet: inlines its imports and, for a CSS module, makes its class names local.
   * @throws RENDER_COMPILE, RENDER_RESOLVE
   */
  async compile(style: StyleSource): Promise<CompiledStyle> {
    // Loaded here: compiled sheets lie on disk, so that most threads never need it.
    const { build, stop } = await import('esbuild')
    this.#running++
    try {
      return await compileStyle(style, build)
    } finally {
      // esbuild keeps a process for each thread that has used it; results are on disk, so that it is seldom needed again.
      if (--this.#running === 0) await stop()
    }
  }
}

async function compileStyle(style: StyleSource, build: typeof import('esbuild').build): Promise<CompiledStyle> {
  const watches = new Set<string>()
  try {
    const result = await build({
      stdin: { contents: style.isModule ? `export { default } from "${ENTRY}"` : `import "${ENTRY}"` },
      plugins: [stylePlugin(style, watches)],
      bundle: true,
      write: false,
      outdir: 'out',
      format: 'esm',
      logLevel: 'silent',
      charset: 'utf8',
      // Not its names: those of class names are unique in one sheet only.
      minifyWhitespace: style.isMinified,
      minifySyntax: style.isMinified,
    })
    const text = (suffix: string) => result.outputFiles.find((file) => file.path.endsWith(suffix))?.text ?? ''
    return {
      css: text('.css'),
      classes: style.isModule ? classesOf(text('.js')) : {},
      watches: [...watches],
      warnings: result.warnings.map((warning) => `${style.file}:${warning.location?.line ?? 1}: ${warning.text}`),
    }
  } catch (error) {
    const first = isBuildFailure(error) ? error.errors[0] : undefined
    if (first === undefined) throw error
    return raise(style, first, error)
  }
}
