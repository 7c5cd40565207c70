import { parseSync, Visitor } from 'oxc-parser'
import { languageOf } from './module-kind.ts'
import { positionAt, sourceError } from './source-problem.ts'

interface Places {
  readonly directives: Map<string, number>
  handler: number | undefined
}

/** The offsets of the first of each directive, and of the first event handler. */
function placesOf(file: string, source: string): Places {
  const places: Places = { directives: new Map(), handler: undefined }
  new Visitor({
    ExpressionStatement({ directive, start }) {
      if (typeof directive === 'string' && !places.directives.has(directive)) places.directives.set(directive, start)
    },
    JSXAttribute({ name, start }) {
      if (name.type === 'JSXIdentifier' && /^on[A-Z]/.test(name.name)) places.handler ??= start
    },
  }).visit(parseSync(file, source, { lang: languageOf(file), sourceType: 'module' }).program)
  return places
}

/**
 * Deals with the directives that name where code runs. There is no browser side: `"use client"` is accepted, and its file
 * gets one warning when it sets event handlers, which do nothing in HTML.
 * @throws RENDER_COMPILE for `"use server"`
 */
export function checkDirectives(file: string, source: string): string[] {
  if (!/use (?:server|client)/.test(source)) return []
  const { directives, handler } = placesOf(file, source)
  const serverAt = directives.get('use server')
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
  if (!directives.has('use client') || handler === undefined) return []
  const { line, column } = positionAt(source, handler)
  return [`${file}:${line}:${column}: event handlers are dropped: pages are rendered on the server only`]
}
