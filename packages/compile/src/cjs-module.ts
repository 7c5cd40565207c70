import { parseSync, Visitor } from 'oxc-parser'
import type { CompiledScript } from './esm-module.ts'
import { type ScriptSource, transformScript } from './transform-script.ts'

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
