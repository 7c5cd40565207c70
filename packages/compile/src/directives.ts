import { parseSync, Visitor } from 'oxc-parser'
import { languageOf } from './module-kind.ts'
import { positionAt, sourceError } from './source-problem.ts'

function offsetOfDirective(file: string, source: string, directive: string): number | undefined {
  if (!source.includes(directive)) return undefined
  let found: number | undefined
  const visitor = new Visitor({
    ExpressionStatement(node) {
      if (node.directive === directive) found ??= node.start
    },
  })
  visitor.visit(parseSync(file, source, { lang: languageOf(file), sourceType: 'module' }).program)
  return found
}

function offsetOfEventHandler(file: string, source: string): number | undefined {
  let found: number | undefined
  const visitor = new Visitor({
    JSXAttribute(node) {
      if (node.name.type === 'JSXIdentifier' && /^on[A-Z]/.test(node.name.name)) found ??= node.start
    },
  })
  visitor.visit(parseSync(file, source, { lang: languageOf(file), sourceType: 'module' }).program)
  return found
}

/**
 * Deals with the directives that name where code runs. There is no browser side: `"use client"` is accepted, and its file
 * gets one warning when it sets event handlers, which do nothing in HTML.
 * @throws RENDER_COMPILE for `"use server"`
 */
export function checkDirectives(file: string, source: string): string[] {
  const serverAt = offsetOfDirective(file, source, 'use server')
  if (serverAt !== undefined) {
    throw sourceError({
      code: 'RENDER_COMPILE',
      file,
      source,
      at: positionAt(source, serverAt),
      message: '"use server" is not supported',
      hint: 'answer the form or the fetch with a handler in a route.ts',
    })
  }
  if (offsetOfDirective(file, source, 'use client') === undefined) return []
  const handlerAt = offsetOfEventHandler(file, source)
  if (handlerAt === undefined) return []
  const { line, column } = positionAt(source, handlerAt)
  return [`${file}:${line}:${column}: event handlers are dropped: pages are rendered on the server only`]
}
