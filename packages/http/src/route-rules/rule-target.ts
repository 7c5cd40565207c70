import type { PathCaptures, PathPattern } from './path-pattern.ts'

/** Characters that stand in a segment of a path as they are (RFC 3986 section 3.3). */
const SEGMENT = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/g
const REST = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/g
/** In a query, what separates its parts is escaped too. */
const QUERY = /[^A-Za-z0-9\-._~!$'()*,:@/]/g

/** Makes the target of a redirect or of a rewrite from what the pattern found, and from the query of the request. */
export type RuleTarget = (captures: PathCaptures, query: string) => string

/** A piece of a target: text, or what it is filled with. */
type Piece = string | ((captures: PathCaptures) => string)

/**
 * Compiles a target. `:name`, `*` and `**` stand for what the pattern found under that sign, and for themselves where it has
 * none. The query of the request is added. What is filled in is escaped, so that it never becomes more than a part of a path or
 * of a query; a target that is a path stays one of this server.
 */
export function compileTarget(text: string, pattern: PathPattern): RuleTarget {
  const hash = text.indexOf('#')
  const beforeHash = hash === -1 ? text : text.slice(0, hash)
  const fragment = hash === -1 ? '' : escapeText(text.slice(hash))
  const question = beforeHash.indexOf('?')
  const path = compilePieces(question === -1 ? beforeHash : beforeHash.slice(0, question), pattern, SEGMENT)
  const args = question === -1 ? [] : compilePieces(beforeHash.slice(question + 1), pattern, QUERY)
  const isPath = text.startsWith('/')
  return (captures, query) => {
    const filled = fill(path, captures)
    const all = [fill(args, captures), query].filter((part) => part !== '').join('&')
    // A path that began with two slashes would name another host.
    return `${isPath ? filled.replace(/^[/\\]+/, '/') : filled}${all === '' ? '' : `?${all}`}${fragment}`
  }
}

function compilePieces(text: string, pattern: PathPattern, unsafe: RegExp): readonly Piece[] {
  const pieces: Piece[] = []
  let copied = 0
  let wildcards = 0
  for (const match of text.matchAll(/:([A-Za-z_]\w*)|\*\*?/g)) {
    const piece = pieceOf(match[0], match[1], pattern, unsafe, wildcards)
    if (piece === undefined) continue
    if (match[0] === '*') wildcards++
    pieces.push(escapeText(text.slice(copied, match.index)), piece)
    copied = match.index + match[0].length
  }
  pieces.push(escapeText(text.slice(copied)))
  return pieces
}

function pieceOf(sign: string, name: string | undefined, pattern: PathPattern, unsafe: RegExp, index: number): Piece | undefined {
  if (name !== undefined) {
    return pattern.names.includes(name) ? ({ names }) => escapeBytes(names.get(name) ?? '', unsafe) : undefined
  }
  if (sign === '**') return pattern.hasRest ? ({ rest = '' }) => escapeBytes(rest, unsafe === SEGMENT ? REST : unsafe) : undefined
  return index < pattern.wildcards ? ({ wildcards }) => escapeBytes(wildcards[index] ?? '', unsafe) : undefined
}

function fill(pieces: readonly Piece[], captures: PathCaptures): string {
  let text = ''
  for (const piece of pieces) text += typeof piece === 'string' ? piece : piece(captures)
  return text
}

function escapeBytes(bytes: string, unsafe: RegExp): string {
  return bytes.replaceAll(unsafe, escapeCharacter)
}

/** Text of a configuration: what cannot stand in a URL is escaped, and what is escaped already stays. */
function escapeText(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\x21-\x7e]|["<>\\^`{|}]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
