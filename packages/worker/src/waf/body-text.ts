import { formLines, oneLine } from './texts.ts'

/** A body as far as it is looked at. */
export interface InspectedBody {
  /** Media type in lower case, without parameters; "" without one. */
  readonly type: string
  /** As sent, UTF-8. */
  readonly text: string
  /** The values in it, each on a line of its own; "" for a type that has none, such as an image. */
  readonly lines: string
}

/** Types whose content is text without values to be told apart. */
const TEXTUAL = /^(?:text\/|application\/(?:xml|graphql|javascript|x-ndjson|soap)|$)|[+/]xml$/
const MAX_PARTS = 256
const PART_HEAD_END = '\r\n\r\n'

/** Reads a body, or its beginning. `contentType`: value of the field. */
export function readBody(bytes: Uint8Array, contentType: string): InspectedBody {
  const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  return { type, text, lines: linesOf(type, text, contentType) }
}

function linesOf(type: string, text: string, contentType: string): string {
  if (type === 'application/x-www-form-urlencoded') return formLines(text)
  if (type === 'application/json' || type.endsWith('+json')) return jsonLines(text)
  if (type.startsWith('multipart/')) return partLines(text, contentType)
  return TEXTUAL.test(type) ? oneLine(text) : ''
}

/** The strings of a JSON text, names and values, also of one that is cut off or wrong. What is outside of them follows as one line. */
function jsonLines(text: string): string {
  const lines: string[] = []
  let outside = ''
  let at = 0
  while (at < text.length) {
    const begin = text.indexOf('"', at)
    outside += text.slice(at, begin === -1 ? text.length : begin)
    if (begin === -1) break
    let end = begin + 1
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
    lines.push(oneLine(jsonString(text.slice(begin + 1, end))))
    at = end + 1
  }
  return `${lines.join('\n')}\n${oneLine(outside)}`
}

function jsonString(escaped: string): string {
  if (!escaped.includes('\\')) return escaped
  return escaped.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_whole, unit?: string, char = '') => {
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
    return 'nrtbf'.includes(char) ? ' ' : char
  })
}

/** The names and values of the parts of a form (RFC 7578). Of a file its name counts, not its content. */
function partLines(text: string, contentType: string): string {
  const boundary = /boundary="?([^";]{1,70})"?/i.exec(contentType)?.[1]
  if (boundary === undefined) return oneLine(text)
  const lines: string[] = []
  for (const part of text.split(`--${boundary}`, MAX_PARTS)) {
    const end = part.indexOf(PART_HEAD_END)
    const head = end === -1 ? part : part.slice(0, end)
    for (const [, value = ''] of head.matchAll(/name\*?="?([^"\r\n;]*)/gi)) lines.push(oneLine(value))
    if (end !== -1 && !/filename/i.test(head)) lines.push(oneLine(part.slice(end + PART_HEAD_END.length)))
  }
  return lines.join('\n')
}
