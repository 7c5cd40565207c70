import { hexValue } from '../syntax/characters.ts'

/** One segment of a pattern. */
type SegmentPattern =
  | { readonly kind: 'text'; readonly text: string }
  /** `:name`: a whole segment that is not empty. */
  | { readonly kind: 'name'; readonly name: string }
  /** `*`: anything between what stands before and behind it in its segment; alone, a segment that is not empty. */
  | { readonly kind: 'any'; readonly before: string; readonly behind: string }

/** Captures of a pattern in a path: decoded, one character for each byte (latin-1). */
export interface PathCaptures {
  readonly names: ReadonlyMap<string, string>
  /** Text that each `*` matched, in their order. */
  readonly wildcards: readonly string[]
  /** Text that `**` matched, without a slash in front; undefined without one. */
  readonly rest: string | undefined
}

/** A pattern of a route rule. */
export interface PathPattern {
  /** Text of the first segment, where it has to be exactly that. */
  readonly firstText: string | undefined
  readonly names: readonly string[]
  readonly wildcards: number
  readonly hasRest: boolean
  /** @param segments of a decoded path, without the slash that it begins with */
  match(segments: readonly string[]): PathCaptures | undefined
}

const noNames: ReadonlyMap<string, string> = new Map()
const nothing: PathCaptures = { names: noNames, wildcards: [], rest: undefined }

/**
 * Compiles a pattern: a path, in which `:name` is one segment, `*` the rest of one, and `**` as the last segment the rest of the
 * path, also where there is none: `/a/**` is `/a` as well. Text is compared decoded, byte by byte; a final slash counts.
 */
export function compilePathPattern(pattern: string): PathPattern {
  const segments = segmentsOf(bytesOf(pattern))
  const hasRest = segments.at(-1) === '**'
  const pieces = (hasRest ? segments.slice(0, -1) : segments).map(pieceOf)
  const names = pieces.flatMap((piece) => (piece.kind === 'name' ? [piece.name] : []))
  const wildcards = pieces.filter(({ kind }) => kind === 'any').length
  const isPlain = names.length === 0 && wildcards === 0
  const [first] = pieces
  return {
    firstText: first?.kind === 'text' ? first.text : undefined,
    names,
    wildcards,
    hasRest,
    match(path) {
      if (hasRest ? path.length < pieces.length : path.length !== pieces.length) return undefined
      if (isPlain) return areText(pieces, path) ? (hasRest ? withRest(nothing, path, pieces.length) : nothing) : undefined
      const captures = capture(pieces, path)
      return captures !== undefined && hasRest ? withRest(captures, path, pieces.length) : captures
    },
  }
}

/** The segments of a path that begins with "/". */
export function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split('/')
}

/** Text of a configuration as the bytes of a decoded path: escapes decoded, everything else as UTF-8. */
function bytesOf(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return bytes.replaceAll(/%([\da-fA-F])([\da-fA-F])/g, (_escape, high: string, low: string) =>
    String.fromCharCode(hexValue(high.charCodeAt(0)) * 16 + hexValue(low.charCodeAt(0))),
  )
}

function pieceOf(segment: string): SegmentPattern {
  if (/^:[A-Za-z_]\w*$/.test(segment)) return { kind: 'name', name: segment.slice(1) }
  const star = segment.indexOf('*')
  if (star === -1) return { kind: 'text', text: segment }
  return { kind: 'any', before: segment.slice(0, star), behind: segment.slice(star + 1) }
}

function areText(pieces: readonly SegmentPattern[], path: readonly string[]): boolean {
  return pieces.every((piece, index) => piece.kind === 'text' && piece.text === path[index])
}

function capture(pieces: readonly SegmentPattern[], path: readonly string[]): PathCaptures | undefined {
  const names = new Map<string, string>()
  const wildcards: string[] = []
  for (const [index, piece] of pieces.entries()) {
    const segment = path[index] ?? ''
    if (piece.kind === 'text') {
      if (piece.text !== segment) return undefined
    } else if (piece.kind === 'name') {
      if (segment === '') return undefined
      names.set(piece.name, segment)
    } else {
      const { before, behind } = piece
      if (segment === '' || segment.length < before.length + behind.length) return undefined
      if (!segment.startsWith(before) || !segment.endsWith(behind)) return undefined
      wildcards.push(segment.slice(before.length, segment.length - behind.length))
    }
  }
  return { names, wildcards, rest: undefined }
}

function withRest(captures: PathCaptures, path: readonly string[], from: number): PathCaptures {
  return { ...captures, rest: path.slice(from).join('/') }
}
