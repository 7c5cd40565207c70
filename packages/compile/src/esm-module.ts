import { parseSync } from 'oxc-parser'
import { moduleRunnerTransformSync } from 'oxc-transform'
import { sourceError } from './source-problem.ts'
import { type ScriptSource, transformScript } from './transform-script.ts'

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
