import type { Template } from '../spec/spec.ts'

/** A text with variables as it was read, or its mistake. */
type ReadTemplate = { readonly template: Template } | { readonly error: string }

const variable = /\$(?:([1-9])|\{([^}]*)(\})?|([A-Za-z0-9_]*))/g

/** Reads a text with `$name`, `${name}` and `$1` to `$9`. */
export function readTemplate(text: string): ReadTemplate {
  const pieces: (string | { variable: string })[] = []
  let from = 0
  for (const match of text.matchAll(variable)) {
    const [whole, capture, braced, brace, plain] = match
    const name = capture ?? braced ?? plain ?? ''
    if (braced !== undefined && brace === undefined) return { error: `the closing bracket in "${braced}" variable is missing` }
    if (braced !== undefined && /^\d+$/.test(braced))
      return { error: `unknown "${braced}" variable (captures are written without braces)` }
    if (!/^[A-Za-z0-9_]+$/.test(name)) return { error: 'invalid variable name' }
    if (match.index > from) pieces.push(text.slice(from, match.index))
    pieces.push({ variable: name })
    from = match.index + whole.length
  }
  if (from < text.length) pieces.push(text.slice(from))
  return { template: pieces }
}

/** Returns true if a text is the same for every request. */
export function isConstant(template: Template): boolean {
  return template.every((piece) => typeof piece === 'string')
}

/** Literal text at the beginning of a template. */
export function leadingText(template: Template): string {
  const [first] = template
  return typeof first === 'string' ? first : ''
}

/** Names of the variables that a template reads, captures excepted. */
export function variablesOf(template: Template): string[] {
  return template.flatMap((piece) => (typeof piece === 'string' || /^[1-9]$/.test(piece.variable) ? [] : [piece.variable]))
}

/** A template without its last `count` characters, which must be literal. */
export function withoutTrailing(template: Template, count: number): Template {
  const last = template.at(-1)
  if (typeof last !== 'string') return template
  const rest = template.slice(0, -1)
  return last.length > count ? [...rest, last.slice(0, -count)] : rest
}

/** Literal text at the end of a template. */
export function trailingText(template: Template): string {
  const last = template.at(-1)
  return typeof last === 'string' ? last : ''
}
