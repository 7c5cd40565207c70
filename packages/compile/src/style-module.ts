import { dirname, relative, sep } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import type { BuildFailure, BuildOptions, Message, OnLoadResult, OnResolveResult, Plugin } from 'esbuild'
import { parseSync, Visitor } from 'oxc-parser'
import type { SiteResolver } from './site-resolver.ts'
import { positionAt, sourceError } from './source-problem.ts'
import { circleOf, faultOf, isModuleSheet, StyleFiles, StyleRefusal, styleError, warningsOf } from './style-files.ts'

/** A style sheet to be compiled. */
interface StyleSource {
  readonly file: string
  readonly source: string
  /** True if the text is made short rather than readable. */
  readonly isMinified: boolean
  readonly resolver: SiteResolver
}

/** A style sheet with everything that it imports. */
interface CompiledStyle {
  readonly css: string
  /** Class name as written -> generated names, space separated. Empty for a global sheet. */
  readonly classes: Readonly<Record<string, string>>
  /** Sheets that its classes are composed of, as paths relative to it: they come before it. */
  readonly imports: readonly string[]
  /** Files whose text is part of it, with the hash of the text. */
  readonly watches: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
}

const NAMESPACE = 'style'
/** The one import of the script that esbuild is given. */
const ENTRY = 'svc:entry'
/** Stands for a sheet that classes are composed of: its names lead to those that its own compilation gives. */
const STAND_IN = 'composed_'

type Build = typeof import('esbuild').build

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
      return await new StyleBuild(style, build, []).run()
    } finally {
      // esbuild keeps a process for each thread that has used it; results are on disk, so that it is seldom needed again.
      if (--this.#running === 0) await stop()
    }
  }
}

/** The compilation of one sheet. */
class StyleBuild {
  readonly #style: StyleSource
  readonly #build: Build
  /** Sheets whose compilation waits for this one. */
  readonly #waiting: readonly string[]
  readonly #files: StyleFiles
  readonly #entry: string
  readonly #watches = new Map<string, string>()
  readonly #warnings: string[] = []
  /** Classes of the sheets that this one composes, by file. */
  readonly #composed = new Map<string, Readonly<Record<string, string>>>()

  constructor(style: StyleSource, build: Build, waiting: readonly string[]) {
    this.#style = style
    this.#build = build
    this.#waiting = [...waiting, style.file]
    this.#files = new StyleFiles(style.resolver)
    this.#entry = this.#files.nameOf(style.file)
    this.#files.add(this.#entry, style.file, style.source)
  }

  async run(): Promise<CompiledStyle> {
    const { file, source } = this.#style
    const isModule = isModuleSheet(file)
    this.#check(file, source)
    try {
      const result = await this.#build(this.#options(isModule))
      const text = (suffix: string) => result.outputFiles?.find(({ path }) => path.endsWith(suffix))?.text ?? ''
      const classes = isModule ? classesOf(text('.js')) : {}
      const circle = circleOf(source, classes)
      if (circle !== undefined) throw styleError(file, source, circle)
      return {
        css: this.#withoutStandIns(text('.css')),
        classes,
        imports: [...this.#composed.keys()].map((target) => relativeTo(file, target)),
        watches: this.#watches,
        warnings: [...this.#warnings, ...result.warnings.map((warning) => this.#warningText(warning))],
      }
    } catch (error) {
      const first = isBuildFailure(error) ? error.errors[0] : undefined
      if (first === undefined) throw error
      return this.#raise(first, error)
    }
  }

  #options(isModule: boolean): BuildOptions & { write: false } {
    return {
      stdin: { contents: isModule ? `export { default } from "${ENTRY}"` : `import "${ENTRY}"` },
      plugins: [this.#plugin()],
      bundle: true,
      write: false,
      outdir: 'out',
      format: 'esm',
      logLevel: 'silent',
      charset: 'utf8',
      // Not its names: those of class names are unique in one sheet only.
      minifyWhitespace: this.#style.isMinified,
      minifySyntax: this.#style.isMinified,
    }
  }

  #plugin(): Plugin {
    return {
      name: NAMESPACE,
      setup: (builder) => {
        builder.onResolve({ filter: /.*/ }, async ({ path, kind, importer }): Promise<OnResolveResult> => {
          if (path === ENTRY) return { path: this.#entry, namespace: NAMESPACE }
          const isImport = kind === 'import-rule' && !/^(?:https?:|data:|\/\/)/i.test(path)
          // Addresses of images and fonts are those of the public directory: they stay as they are.
          if (!isImport && kind !== 'composes-from') return { path, external: true }
          const from = this.#files.get(importer)?.file ?? this.#style.file
          try {
            const name = await (isImport ? this.#import(from, path) : this.#compose(from, path))
            return { path: name, namespace: NAMESPACE }
          } catch (error) {
            // The bundler adds the place of the import.
            return { errors: [{ text: messageOf(error), detail: error }] }
          }
        })
        builder.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => this.#load(path))
      },
    }
  }

  async #import(importer: string, specifier: string): Promise<string> {
    const file = this.#resolve(importer, specifier)
    const name = this.#files.nameOf(file)
    if (this.#files.get(name) !== undefined) return name
    const { source, hash } = this.#files.read(file)
    this.#watches.set(file, hash)
    this.#files.add(name, file, source)
    this.#check(file, source)
    return name
  }

  /** Brings in the class names of another sheet; its rules come with the sheet itself. */
  async #compose(importer: string, specifier: string): Promise<string> {
    const file = this.#resolve(importer, specifier)
    const name = this.#files.nameOf(file)
    if (file === importer) return name
    if (!isModuleSheet(file)) throw new StyleRefusal('RENDER_RESOLVE', `"${specifier}" is no CSS module`, 'name it *.module.css')
    if (this.#waiting.includes(file)) {
      throw new StyleRefusal('RENDER_COMPILE', `composes leads in a circle, back to "${specifier}"`, 'leave one of them out')
    }
    if (!this.#composed.has(file)) await this.#readClasses(file)
    return `${STAND_IN}${name}`
  }

  async #readClasses(file: string): Promise<void> {
    const { source, hash } = this.#files.read(file)
    const other = new StyleBuild({ ...this.#style, file, source }, this.#build, this.#waiting)
    const { classes, watches } = await other.run()
    for (const [watched, content] of [[file, hash] as const, ...watches]) this.#watches.set(watched, content)
    this.#composed.set(file, classes)
    this.#files.add(`${STAND_IN}${this.#files.nameOf(file)}`, file, standInOf(classes))
  }

  #load(name: string): OnLoadResult {
    const known = this.#files.get(name)
    return { contents: known?.source ?? '', loader: known !== undefined && isModuleSheet(known.file) ? 'local-css' : 'css' }
  }

  #resolve(importer: string, specifier: string): string {
    const found = this.#style.resolver.resolveStyle(importer, specifier)
    if (found.kind === 'none') throw new StyleRefusal('RENDER_RESOLVE', found.message, found.hint)
    if (found.kind === 'file' && found.id.endsWith('.css')) return found.id
    const hint = 'import a file that ends with .css; what makes style sheets at build time (Tailwind, Sass) has to run before'
    throw new StyleRefusal('RENDER_RESOLVE', `"${specifier}" is not a style sheet`, hint)
  }

  /** @throws RENDER_COMPILE */
  #check(file: string, source: string): void {
    const isModule = isModuleSheet(file)
    const fault = isModule ? faultOf(source) : undefined
    if (fault !== undefined) throw styleError(file, source, fault)
    for (const { offset, message, hint } of warningsOf(source, isModule)) {
      const { line, column } = positionAt(source, offset)
      this.#warnings.push(`${file}:${line}:${column}: ${message} (${hint})`)
    }
  }

  #warningText({ text, location }: Message): string {
    const { file, at } = this.#files.placeOf(location, this.#entry)
    return `${file}:${at.line}:${at.column}: ${text}`
  }

  /** Stand-ins have no rules and no names of their own: the sheets that they stand for have them. */
  #withoutStandIns(css: string): string {
    const name = `${STAND_IN}[\\w\\u0080-\\uffff-]+`
    return css.replace(new RegExp(`/\\* ${NAMESPACE}:${name}\\.css \\*/\\n|\\.${name} \\{\\n\\}\\n+|\\.${name}\\{\\}`, 'g'), '')
  }

  #raise({ detail, text, location }: Message, cause: unknown): never {
    // An error of another sheet has its own place.
    if (codeOf(detail) !== undefined) throw detail
    const refused = detail instanceof StyleRefusal ? detail : undefined
    // The bundler quotes its own names of files.
    const message = text.replace(/"style:([^"]+)"/g, (all, name: string) => `"${this.#files.get(name)?.file ?? all}"`)
    const facts = { ...this.#files.placeOf(location, this.#entry), message, cause }
    const hint = refused?.hint
    throw sourceError({ ...facts, code: refused?.kind ?? 'RENDER_COMPILE', ...(hint === undefined ? {} : { hint }) })
  }
}

/** A sheet whose every class is made of the names that the class has in another one. */
function standInOf(classes: Readonly<Record<string, string>>): string {
  const escaped = (names: string) => names.replace(/[^\w\u0080-\uffff -]/g, '\\$&')
  return Object.entries(classes)
    .map(([name, generated]) => `.${escaped(name)}{composes:${escaped(generated)} from global}`)
    .join('')
}

function relativeTo(file: string, target: string): string {
  const path = relative(dirname(file), target).split(sep).join('/')
  return path.startsWith('.') ? path : `./${path}`
}

function classesOf(code: string): Record<string, string> {
  const classes: Record<string, string> = {}
  const visitor = new Visitor({
    Property(node) {
      const name = node.key.type === 'Literal' ? String(node.key.value) : node.key.type === 'Identifier' ? node.key.name : ''
      if (node.value.type !== 'Literal') return
      const generated = String(node.value.value).split(' ')
      classes[name] = generated.filter((one) => !one.startsWith(STAND_IN)).join(' ')
    },
  })
  visitor.visit(parseSync('classes.js', code, { sourceType: 'module' }).program)
  return classes
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}
