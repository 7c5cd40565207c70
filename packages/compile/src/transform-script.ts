import { parseSync, Visitor } from 'oxc-parser'
import { type HelperMode, moduleRunnerTransformSync, type OxcError, type TransformResult, transformSync } from 'oxc-transform'
import { languageOf } from './module-kind.ts'
import { offsetOfByte, positionAt, sourceError } from './source-problem.ts'

/** A script file to be transformed. */
interface ScriptSource {
  readonly file: string
  readonly source: string
  readonly mode: 'production' | 'development'
}

const awaitWarning = 'Top-level await is not available'

function raise({ file, source }: ScriptSource, error: OxcError): never {
  const label = error.labels[0]
  const at = positionAt(source, label === undefined ? 0 : offsetOfByte(source, label.start))
  const hint = error.helpMessage === null ? {} : { hint: error.helpMessage }
  throw sourceError({ code: 'RENDER_COMPILE', file, source, at, message: error.message, ...hint })
}

/** The offset of the first `for await` outside of functions. */
function offsetOfForAwait(file: string, source: string): number {
  let depth = 0
  let found: number | undefined
  const enter = () => void depth++
  const leave = () => void depth--
  new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    ForOfStatement(node) {
      if (node.await && depth === 0) found ??= node.start
    },
  }).visit(parseSync(file, source, { lang: languageOf(file), sourceType: 'module' }).program)
  return found ?? 0
}

function raiseTopLevelAwait({ file, source }: ScriptSource, warning: OxcError): never {
  const label = warning.labels[0]
  // A lowered `for await` has no position of its own.
  const offset = label === undefined || label.start === 0 ? offsetOfForAwait(file, source) : offsetOfByte(source, label.start)
  throw sourceError({
    code: 'RENDER_COMPILE',
    file,
    source,
    at: positionAt(source, offset),
    message: 'top-level await is not supported',
    hint: 'move it into the component or the handler, or into an async function that they call',
  })
}

/**
 * Turns TypeScript and JSX into plain scripts. Async functions become generators run by the helpers of the global
 * `babelHelpers`, which carry the context of a request across each await.
 * @throws RENDER_COMPILE for a syntax error or a top-level await
 */
function transformScript(script: ScriptSource, sourceType: 'module' | 'commonjs'): TransformResult {
  // The code becomes the body of a function, where a hashbang is a syntax error; as a comment it has the same length.
  const source = script.source.startsWith('#!') ? `//${script.source.slice(2)}` : script.source
  const result = transformSync(script.file, source, {
    lang: languageOf(script.file),
    sourceType,
    target: 'es2016',
    helpers: { mode: 'External' as HelperMode },
    jsx: { runtime: 'automatic', development: false },
    // Whole expressions only: the site still has its own `process.env`.
    define: { 'process.env.NODE_ENV': JSON.stringify(script.mode) },
    sourcemap: true,
  })
  for (const error of result.errors) {
    if (error.severity === 'Error') raise(script, error)
    if (error.message.startsWith(awaitWarning)) raiseTopLevelAwait(script, error)
  }
  return result
}

/** A script after compilation, before its imports are resolved. */
export interface CompiledScript {
  /** Body of the module's factory. */
  readonly code: string
  /** Specifiers that must resolve for the module to load. */
  readonly imports: readonly string[]
  /** Specifiers whose failure shows only when they are reached: `import()` and `require()`. */
  readonly lateImports: readonly string[]
  /** Source map mappings, outermost first: compiled to intermediate, intermediate to source. */
  readonly maps: readonly string[]
}

/** The function of the runner's transform that imports a module. */
const IMPORT = '__vite_ssr_import__'

/** Turns the transform's awaited imports into plain calls. Each keeps its number of columns, so that the map stays true. */
function withSyncImports(code: string): string {
  let result = ''
  let end = 0
  for (const statement of parseSync('linked.js', code, { lang: 'js', sourceType: 'module' }).program.body) {
    if (statement.type !== 'VariableDeclaration') continue
    const value = statement.declarations[0]?.init
    if (value?.type !== 'AwaitExpression' || value.argument.type !== 'CallExpression') continue
    const { callee } = value.argument
    if (callee.type !== 'Identifier' || callee.name !== IMPORT) continue
    result += code.slice(end, value.start) + ' '.repeat(value.argument.start - value.start)
    end = value.argument.start
  }
  return result + code.slice(end)
}

/**
 * Compiles an ES module to a function body with live bindings whose static imports are synchronous calls.
 * @throws RENDER_COMPILE
 */
export function compileEsm(script: ScriptSource): CompiledScript {
  const lowered = transformScript(script, 'module')
  const linked = moduleRunnerTransformSync(script.file, lowered.code, { sourcemap: true })
  const failure = linked.errors.find((error) => error.severity === 'Error')
  if (failure !== undefined) {
    const { file, source } = script
    throw sourceError({ code: 'RENDER_COMPILE', file, source, at: { line: 1, column: 1 }, message: failure.message })
  }
  return {
    code: linked.deps.length === 0 ? linked.code : withSyncImports(linked.code),
    imports: linked.deps.toSorted(),
    lateImports: linked.dynamicDeps.toSorted(),
    maps: [linked.map?.mappings ?? '', lowered.map?.mappings ?? ''],
  }
}

interface Found {
  readonly specifiers: Set<string>
  /** Offsets of `import` in import expressions. */
  readonly dynamicImports: { start: number; end: number; specifierStart: number; specifierEnd: number }[]
}

function findImports(file: string, code: string): Found {
  const found: Found = { specifiers: new Set(), dynamicImports: [] }
  if (!code.includes('require') && !code.includes('import(')) return found
  const add = (node: { type: string; value?: unknown }) => {
    if (node.type === 'Literal' && typeof node.value === 'string') found.specifiers.add(node.value)
  }
  const visitor = new Visitor({
    CallExpression(node) {
      const [first] = node.arguments
      if (node.callee.type === 'Identifier' && node.callee.name === 'require' && first !== undefined) add(first)
    },
    ImportExpression(node) {
      add(node.source)
      const { start: specifierStart, end: specifierEnd } = node.source
      found.dynamicImports.push({ start: node.start, end: node.end, specifierStart, specifierEnd })
    },
  })
  visitor.visit(parseSync(file, code, { lang: 'js', sourceType: 'commonjs' }).program)
  return found
}

/** A classic script has no `import()`: the module is required in a later microtask instead. */
function replaceDynamicImports(code: string, found: Found): string {
  const edits = found.dynamicImports.flatMap(({ start, end, specifierStart, specifierEnd }) => [
    { start, end: specifierStart, text: 'Promise.resolve(' },
    { start: specifierEnd, end, text: ').then(require)' },
  ])
  let result = ''
  let end = 0
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += code.slice(end, edit.start) + edit.text
    end = edit.end
  }
  return result + code.slice(end)
}

/**
 * Compiles a CommonJS module. `process.env.NODE_ENV` is a constant, and branches that it makes unreachable are gone with
 * the `require` calls in them.
 * @throws RENDER_COMPILE
 */
export function compileCommonJs(script: ScriptSource): CompiledScript {
  const lowered = transformScript(script, 'commonjs')
  const found = findImports(script.file, lowered.code)
  return {
    code: replaceDynamicImports(lowered.code, found),
    imports: [],
    lateImports: [...found.specifiers].sort(),
    maps: [lowered.map?.mappings ?? ''],
  }
}
