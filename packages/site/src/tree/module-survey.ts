import { parseSync, Visitor } from 'oxc-parser'

/** Facts of a module that its text tells without running it. */
export interface ModuleSurvey {
  /** Names of its exports ("default" for the default one) with their line. Types and `export *` are left out. */
  readonly exports: ReadonlyMap<string, number>
  /** The declarations `export const revalidate` and `export const dynamic`, where their values are plain. */
  readonly revalidate?: number | false
  readonly dynamic?: string
  /** Line of the first `"use server"` directive, of the file or of a function. */
  readonly useServerLine: number | undefined
}

const USE_SERVER = 'use server'
/** A plain declaration is shorter. */
const MAX_STATEMENT = 200

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
  return {
    exports,
    ...segmentConfig(parsed, text),
    useServerLine: text.includes(USE_SERVER) ? directiveLine(parsed, text) : undefined,
  }
}

const REVALIDATE = /^export\s+const\s+revalidate\b[^=]*=\s*(\d{1,10}|false)\s*;?\s*$/
const DYNAMIC = /^export\s+const\s+dynamic\b[^=]*=\s*['"]([a-z-]{1,20})['"]/

/** How long responses of the module are stored, as far as it declares that. */
function segmentConfig(parsed: ReturnType<typeof parseSync>, text: string): Pick<ModuleSurvey, 'revalidate' | 'dynamic'> {
  if (!text.includes('revalidate') && !text.includes('dynamic')) return {}
  let found: Pick<ModuleSurvey, 'revalidate' | 'dynamic'> = {}
  for (const { start, end } of parsed.module.staticExports) {
    const statement = text.slice(start, Math.min(end, start + MAX_STATEMENT))
    const seconds = REVALIDATE.exec(statement)?.[1]
    const dynamic = DYNAMIC.exec(statement)?.[1]
    if (seconds !== undefined) found = { ...found, revalidate: seconds === 'false' ? false : Number(seconds) }
    if (dynamic !== undefined) found = { ...found, dynamic }
  }
  return found
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
