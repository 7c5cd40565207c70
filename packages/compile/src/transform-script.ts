import { parseSync, Visitor } from 'oxc-parser'
import { type HelperMode, type OxcError, type TransformResult, transformSync } from 'oxc-transform'
import { languageOf } from './module-kind.ts'
import { offsetOfByte, positionAt, sourceError } from './source-problem.ts'

/** A script file to be transformed. */
export interface ScriptSource {
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

/** Where the first `for await` outside of functions begins. */
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
export function transformScript(script: ScriptSource, sourceType: 'module' | 'commonjs'): TransformResult {
  // The code becomes the body of a function, where a hashbang is a syntax error; as a comment it has the same length.
  const source = script.source.startsWith('#!') ? `//${script.source.slice(2)}` : script.source
  const result = transformSync(script.file, source, {
    lang: languageOf(script.file),
    sourceType,
    target: 'es2016',
    helpers: { mode: 'External' as HelperMode },
    jsx: { runtime: 'automatic', development: false },
    // Whole expressions only: `process.env` itself stays what the site sees.
    define: { 'process.env.NODE_ENV': JSON.stringify(script.mode) },
    sourcemap: true,
  })
  for (const error of result.errors) {
    if (error.severity === 'Error') raise(script, error)
    if (error.message.startsWith(awaitWarning)) raiseTopLevelAwait(script, error)
  }
  return result
}
