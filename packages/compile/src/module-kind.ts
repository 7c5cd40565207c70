import type { ParseResult } from 'oxc-parser'

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

/** True if V8's code cache of a script is stored on disk. */
export function hasBytecode(format: ModuleFormat, script: string): boolean {
  return (format === 'esm' || format === 'cjs') && script.length > BYTECODE_ABOVE_CHARS
}

/** How a source file is compiled: the format of its result, and what tells styles apart. */
export type ModuleKind = Exclude<ModuleFormat, 'css'> | 'css' | 'css-module'

/** Facts that decide the kind of a file. */
interface KindFacts {
  readonly file: string
  readonly source: string
  /** `type` of the nearest package.json. */
  readonly packageType: 'module' | 'commonjs' | undefined
  readonly isPackage: boolean
}

const typescriptOrJsx = /\.(?:ts|tsx|jsx|mts|mjs)$/

/** The language of a script file as the parser and the transform name it. */
export function languageOf(file: string): 'js' | 'jsx' | 'ts' | 'tsx' {
  if (file.endsWith('.tsx')) return 'tsx'
  if (/\.[cm]?ts$/.test(file)) return 'ts'
  // JSX in plain .js files is common in sites and costs nothing to accept.
  return 'jsx'
}

/**
 * Decides how a file is compiled: by its extension, then by `type` of its package, then by its syntax. A package without
 * a `type` that uses import or export (the old `module` field) is ESM.
 */
export async function moduleKindOf({ file, source, packageType, isPackage }: KindFacts): Promise<ModuleKind> {
  if (file.endsWith('.json')) return 'json'
  if (file.endsWith('.module.css')) return 'css-module'
  if (file.endsWith('.css')) return 'css'
  if (/\.c[jt]s$/.test(file)) return 'cjs'
  if (typescriptOrJsx.test(file) || packageType === 'module') return 'esm'
  // Loaded here: few files need it, and on a warm disk none does.
  const { parseSync, Visitor } = await import('oxc-parser')
  const parsed = parseSync(file, source, { lang: languageOf(file), sourceType: 'unambiguous' })
  if (parsed.module.hasModuleSyntax) return 'esm'
  return isPackage || usesCommonJs(parsed, Visitor) ? 'cjs' : 'esm'
}

/** True if a script exports or imports the way of CommonJS: `module.exports`, `exports.name`, `require()`. */
function usesCommonJs({ program }: ParseResult, Visitor: typeof import('oxc-parser').Visitor): boolean {
  let isFound = false
  new Visitor({
    MemberExpression({ object, property }) {
      if (object.type !== 'Identifier') return
      const isModuleExports = object.name === 'module' && property.type === 'Identifier' && property.name === 'exports'
      if (isModuleExports || object.name === 'exports') isFound = true
    },
    CallExpression({ callee }) {
      if (callee.type === 'Identifier' && callee.name === 'require') isFound = true
    },
  }).visit(program)
  return isFound
}
