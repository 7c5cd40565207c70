/** The form of a compiled module, as the registry of the isolate takes it. */
export type ModuleFormat = 'esm' | 'cjs' | 'json' | 'css'

const parameters = {
  esm: '__vite_ssr_import__, __vite_ssr_exports__, __vite_ssr_exportAll__, __vite_ssr_dynamic_import__, __vite_ssr_import_meta__',
  cjs: 'exports, require, module, __filename, __dirname',
} as const

/** Small modules compile as fast as their code cache is read. */
const BYTECODE_ABOVE_CHARS = 2_000

/** The factory of a module as V8 gets it, or its text. The first line is not counted in stack traces. */
export function scriptOf({ format, code }: { readonly format: ModuleFormat; readonly code: string }): string {
  if (format === 'json' || format === 'css') return code
  // ES modules are strict code; a CommonJS module says so itself.
  const directive = format === 'esm' ? '"use strict";' : ''
  return `(function (${parameters[format]}) {${directive}\n${code}\n})`
}

/** Whether V8's code cache of a script is kept on disk. */
export function hasBytecode(format: ModuleFormat, script: string): boolean {
  return (format === 'esm' || format === 'cjs') && script.length > BYTECODE_ABOVE_CHARS
}
