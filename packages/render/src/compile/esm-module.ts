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

// The same number of columns, so that the map stays true.
const importLine = /^(const __vite_ssr_import_\d+__ = )await (?=__vite_ssr_import__\()/gm

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
    code: linked.code.replace(importLine, '$1      '),
    imports: linked.deps.toSorted(),
    lateImports: linked.dynamicDeps.toSorted(),
    maps: [linked.map?.mappings ?? '', lowered.map?.mappings ?? ''],
  }
}
