import { parseSync, Visitor } from 'oxc-parser'

/** Facts of a module that its text tells without running it. */
export interface ModuleSurvey {
  /** Names of its exports ("default" for the default one) with their line. Types and `export *` are left out. */
  readonly exports: ReadonlyMap<string, number>
  /** Line of the first `"use server"` directive, of the file or of a function. */
  readonly useServerLine: number | undefined
}

const USE_SERVER = 'use server'

function languageOf(file: string): 'ts' | 'tsx' | 'jsx' {
  if (file.endsWith('.tsx')) return 'tsx'
  // JSX is accepted in plain .js, as the compiler does.
  return file.endsWith('.ts') ? 'ts' : 'jsx'
}

/** Parses the text of a module. Lenient: of a text with syntax errors it returns the part that the parser understood. */
export function parseModule(file: string, text: string): ReturnType<typeof parseSync> {
  return parseSync(file, text, { lang: languageOf(file), sourceType: 'module' })
}

/** Number of the line that holds an offset of a text, from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** Looks at the text of a module. */
export function surveyModule(file: string, text: string): ModuleSurvey {
  const parsed = parseModule(file, text)
  const exports = new Map<string, number>()
  for (const { exportName, isType } of parsed.module.staticExports.flatMap(({ entries }) => entries)) {
    if (isType || exportName.kind === 'None') continue
    exports.set(exportName.kind === 'Default' ? 'default' : (exportName.name ?? ''), lineAt(text, exportName.start ?? 0))
  }
  // The syntax tree is only built for the few files that may have the directive.
  return { exports, useServerLine: text.includes(USE_SERVER) ? directiveLine(parsed, text) : undefined }
}

function directiveLine(parsed: ReturnType<typeof parseSync>, text: string): number | undefined {
  let line: number | undefined
  const visitor = new Visitor({
    ExpressionStatement(node) {
      if (node.directive === USE_SERVER) line ??= lineAt(text, node.start)
    },
  })
  visitor.visit(parsed.program)
  return line
}
