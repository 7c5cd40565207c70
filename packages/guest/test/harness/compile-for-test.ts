import { posix } from 'node:path'
import { builtinModules } from '@svc/site'
import { type HelperMode, moduleRunnerTransformSync, transformSync } from 'oxc-transform'
import type { ModuleFormat } from '../../src/contract/isolate.ts'

/** A module ready for `define`. */
export interface CompiledForTest {
  readonly format: ModuleFormat
  readonly dependencies: Readonly<Record<string, string>>
  readonly code: string
}

function targetOf(id: string, specifier: string): string {
  if (builtinModules.includes(specifier)) return `builtin:${specifier}`
  if (specifier.startsWith('.')) return posix.join(posix.dirname(id), specifier)
  return specifier.startsWith('/') ? specifier : `!Cannot find package '${specifier}'`
}

const dependenciesOf = (id: string, specifiers: readonly string[]) =>
  Object.fromEntries(specifiers.map((specifier) => [specifier, targetOf(id, specifier)]))

const options = {
  target: 'es2016',
  helpers: { mode: 'External' as HelperMode },
  jsx: { runtime: 'automatic', development: false },
} as const

function lowered(id: string, source: string, sourceType: 'module' | 'script'): string {
  const result = transformSync(id, source, { ...options, sourceType })
  const failure = result.errors.find((error) => error.severity === 'Error')
  if (failure !== undefined) throw new SyntaxError(`${id}: ${failure.message}`)
  return result.code
}

/** Compiles one source in the two steps of the product's compiler; specifiers are not looked up on any disk. */
export function compileForTest(id: string, source: string): CompiledForTest {
  if (id.endsWith('.json')) return { format: 'json', dependencies: {}, code: source }
  if (id.endsWith('.css')) return { format: 'css', dependencies: {}, code: source }
  if (id.endsWith('.cjs')) {
    const specifiers = [...source.matchAll(/require\(['"]([^'"]+)['"]\)/g)].map((match) => match[1] as string)
    const code = `(function (exports, require, module, __filename, __dirname) {${lowered(id, source, 'script')}\n})`
    return { format: 'cjs', dependencies: dependenciesOf(id, specifiers), code }
  }
  const linked = moduleRunnerTransformSync(id, lowered(id, source, 'module'))
  const body = linked.code.replace(/= await (?=__vite_ssr_import__\()/g, '= ')
  const names = ['import__', 'exports__', 'exportAll__', 'dynamic_import__', 'import_meta__'].map((name) => `__vite_ssr_${name}`)
  const code = `(function (${names.join(', ')}) {"use strict";\n${body}\n})`
  return { format: 'esm', dependencies: dependenciesOf(id, [...linked.deps, ...linked.dynamicDeps]), code }
}
