/** Characters that are escaped, besides everything outside of visible ASCII. */
const uriSpecials = ' "#%<>?\\^`{|}'
const argsSpecials = `${uriSpecials}&+;`

function tableOf(isEscapedCode: (code: number, character: string) => boolean): readonly string[] {
  const table: string[] = []
  for (let code = 0; code < 256; code++) {
    const character = String.fromCharCode(code)
    const isEscaped = isEscapedCode(code, character)
    table.push(isEscaped ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : character)
  }
  return table
}

const isOutsideOfVisibleAscii = (code: number) => code < 0x20 || code >= 0x7f
const uriTable = tableOf((code, character) => isOutsideOfVisibleAscii(code) || uriSpecials.includes(character))
const argsTable = tableOf((code, character) => isOutsideOfVisibleAscii(code) || argsSpecials.includes(character))
const controlTable = tableOf((code) => code < 0x20 || code === 0x7f)

/** Escapes a decoded path (latin-1) for the path of a URL, as nginx does when it makes a URL from `$uri`. */
export function escapeUri(path: string): string {
  return escaped(path, uriTable)
}

/** The URL of a decoded path (latin-1), with arguments as they are. */
export function urlOf(path: string, args: string): string {
  return args === '' ? escapeUri(path) : `${escapeUri(path)}?${args}`
}

/** Escapes decoded text (latin-1) for the arguments of a URL. */
export function escapeArgs(text: string): string {
  return escaped(text, argsTable)
}

function escaped(text: string, table: readonly string[]): string {
  let isPlain = true
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (table[code]?.length !== 1) isPlain = false
  }
  if (isPlain) return text
  let result = ''
  for (let i = 0; i < text.length; i++) result += table[text.charCodeAt(i)] ?? ''
  return result
}

/**
 * Undoes escapes that the target of a redirect does not need, up to its first "?": what a capture was escaped for without
 * need is readable again. Escapes of controls, space and everything outside of ASCII stay.
 */
export function unescapeRedirect(text: string): string {
  const question = text.indexOf('?')
  const path = question === -1 ? text : text.slice(0, question)
  if (!path.includes('%')) return text
  let result = ''
  let at = 0
  while (at < path.length) {
    const character = path[at] ?? ''
    const digits = path.slice(at + 1, at + 3)
    const code = character === '%' && /^[0-9a-fA-F]{2}$/.test(digits) ? Number.parseInt(digits, 16) : undefined
    if (code === undefined) {
      result += character
      at++
      continue
    }
    // From a decoded "?" on everything stays as it is.
    if (code === 0x3f) return `${result}?${text.slice(at + 3)}`
    result += code > 0x25 && code < 0x7f ? String.fromCharCode(code) : path.slice(at, at + 3)
    at += 3
  }
  return result + text.slice(path.length)
}

/** Replaces controls, so that no part of a request ends a line of a response. */
export function withoutControls(value: string): string {
  return escaped(value, controlTable)
}
